"""`select` as a shape: which values of a row, under which names, in maps inside maps."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic_core import PydanticCustomError

from bbops.expressions import nodes as s
from bbops.expressions.known import Facts
from bbops.expressions.scope import Scope
from bbops.expressions.types import TEXT_COLUMNS, Type, map_of
from bbops.expressions.values import Bare, Broken, Expression, read_bare
from bbops.runtime.rows import DECODERS
from bbops.sql.parts import NotInSql
from bbops.sql.query import Query, check_nesting
from bbops.sql.template import Template
from bbops.sql.types import Column, Table
from bbops.steps._checking import Checking
from bbops.steps._flow import Flow
from bbops.yaml.document import Map, Mark


@dataclass(frozen=True, slots=True, eq=False)
class Selected:
    """Names with expressions, or with what is selected under them."""

    items: tuple[tuple[str, Bare | Selected], ...]
    mark: Mark | None = None


Columns = tuple[str, ...]


def read_select(data: Any) -> Columns | Selected:
    """Return a list of columns as their names, a map as the shape it describes."""
    if isinstance(data, dict) and data:
        items = tuple((str(name), _read(name, value)) for name, value in data.items())
        return Selected(items, data.mark if isinstance(data, Map) else None)
    if not isinstance(data, list) or not data or not all(isinstance(name, str) for name in data):
        hint = f"write [{data}]" if isinstance(data, str) and data.isidentifier() else ""
        message = "'select' is a list of columns, or a map of names"
        raise PydanticCustomError("columns", message, {"hint": hint})
    if "*" in data:
        hint = "leave 'select' out for all columns"
        message = "'select' is a list of columns, without '*'"
        raise PydanticCustomError("columns", message, {"hint": hint})
    return tuple(data)


def _read(name: object, value: Any) -> Bare | Selected:
    if isinstance(value, dict) and value:
        items = tuple((str(key), _read(key, one)) for key, one in value.items())
        return Selected(items, value.mark if isinstance(value, Map) else None)
    if isinstance(value, list):
        hint = "find them in a step of their own"
        message = "'{name}': rows of a relation cannot be selected as a list yet"
        raise PydanticCustomError("columns", message, {"name": str(name), "hint": hint})
    return read_bare(value)


# ---- check
def check_select(
    at: Checking, table: Table, shape: Selected, scope: Scope, query: Query, facts: Facts
) -> Type:
    """Report what is wrong with a shape, also what SQL could not do; return the type of a row.

    Args:
        facts: what is known of the rows.
    """
    with scope.knowing(facts):
        return _check(at, table, shape, scope, query)


def _check(at: Checking, table: Table, shape: Selected, scope: Scope, query: Query) -> Type:
    found: dict[str, Type] = {}
    for name, value in shape.items:
        if isinstance(value, Selected):
            of = _check(at, table, value, scope, query)
            found[name] = of.or_null() if optional_prefix(query, value) else of
        else:
            at.follows(table, value)
            found[name] = at.value(value, within=scope)
            _try(at, value, query)
    return map_of(found, "the row")


def _try(at: Checking, value: Bare, query: Query) -> None:
    """Compile a value for its mistakes only, unless it has others already."""
    if isinstance(value, Broken) or not at.is_sound(value):
        return
    try:
        check_nesting(value.node, query.scalar(value.node))
        column_of(query, "", value.node)
    except NotInSql as problem:
        at.scope.report(value.mark, problem.offset, "not-in-sql", problem.message, problem.hint)


def column_of(query: Query, name: str, node: s.Node) -> Column:
    """Return how a selected value comes out of the database.

    Raises:
        NotInSql: it is of a kind that the database gives back as another one.
    """
    path = query.path(node)
    if path is not None:
        table = query.table.follow(path[:-1])
        assert table is not None  # noqa: S101 - a path leads to a column
        return Column(name, table.columns[path[-1]].type, nullable=True)
    kind = query.type_of(node).kind
    if kind in {"any", "null", "list", "map"}:
        hint = "select columns, and put the value beside them behind this step"
        raise NotInSql(node.start, f"{kind} is not computed in SQL", hint)
    return Column(name, "string" if kind in {"text", *TEXT_COLUMNS} else kind, nullable=True)


# ---- optional relations
def _leaves(shape: Selected) -> Iterator[Bare]:
    for _, value in shape.items:
        if isinstance(value, Selected):
            yield from _leaves(value)
        else:
            yield value


def optional_prefix(query: Query, shape: Selected) -> tuple[str, ...]:
    """Return the relation that all values of a map come through, if there may be no row."""
    paths = [query.path(one.node) if isinstance(one, Expression) else None
             for one in _leaves(shape)]  # fmt: skip
    if not paths or any(path is None or len(path) < 2 for path in paths):
        return ()
    relations = [path[:-1] for path in paths if path is not None]
    prefix = min(relations, key=len)
    while any(one[: len(prefix)] != prefix for one in relations):
        prefix = prefix[:-1]
    table = query.table
    for name in prefix:
        relation = table.relations.get(name)
        if relation is None:
            return ()
        if relation.optional:
            return prefix
        table = table.tables[relation.table]
    return ()


# ---- code
class SelectCode:
    """Collects the columns of one SELECT, and builds the row out of them."""

    def __init__(self, flow: Flow, query: Query) -> None:
        self.flow, self.query = flow, query
        self.columns: list[Template] = []

    def row(self, shape: Selected) -> ast.expr:
        """Return the code that builds a row out of the tuple `r`."""
        keys: list[ast.expr | None] = [ast.Constant(name) for name, _ in shape.items]
        return ast.Dict(keys, [self.value(name, value) for name, value in shape.items])

    def value(self, name: str, value: Bare | Selected) -> ast.expr:
        if isinstance(value, Selected):
            prefix = optional_prefix(self.query, value)
            inner = self.row(value)
            if not prefix:
                return inner
            table = self.query.table.follow(prefix[:-1])
            assert table is not None  # noqa: S101 - a prefix is made of relations
            key = (*prefix, table.relations[prefix[-1]].key)
            at = self.take(self.query.read(s.Name(0, 0, prefix[0]), key))
            return self.flow.expression(f"None if r[{at}] is None else inner", inner=inner)
        assert isinstance(value, Expression)  # noqa: S101 - checked before
        column = column_of(self.query, name, value.node)
        at = self.take(self.query.scalar(value.node))
        if column.type not in DECODERS:
            return self.flow.expression(f"r[{at}]")
        return self.flow.cell(at, column)

    def take(self, column: Template) -> int:
        self.columns.append(column)
        return len(self.columns) - 1
