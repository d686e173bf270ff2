"""What `select` as a shape means: its check, and the code that builds a row of one tuple."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from bbops.language.expressions import nodes as s
from bbops.language.expressions.known import Facts
from bbops.language.expressions.related import related_scope
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.types import NEVER, Type, list_of, map_of
from bbops.language.expressions.values import Bare, Broken, Expression
from bbops.language.sql.parts import NotInSql, Parts
from bbops.language.sql.query import check_nesting
from bbops.language.sql.related import Rows, as_json, listed, rows_of
from bbops.language.sql.template import Template
from bbops.language.sql.types import Column, Table
from bbops.language.steps._checking import Checking
from bbops.language.steps._flow import Flow
from bbops.language.steps._shape import Many, Selected, leaves

MOST_LISTS = 4
"""Lists in lists; what is read in the innermost one has no room for parentheses."""


# ---- check
def check_select(
    at: Checking, shape: Selected, scope: Scope, query: Parts, facts: Facts
) -> Type:  # fmt: skip
    """Report what is wrong with a shape, also what SQL could not do; return the type of a row.

    Args:
        facts: what is known of the rows.
    """
    with scope.knowing(facts):
        return _check(at, shape, scope, query)


def _check(at: Checking, shape: Selected, scope: Scope, query: Parts) -> Type:
    found: dict[str, Type] = {}
    for name, value in shape.items:
        if isinstance(value, Selected):
            of = _check(at, value, scope, query)
            found[name] = of.or_null() if optional_relation(query, value) else of
        elif isinstance(value, Many):
            found[name] = _check_many(at, name, value, scope, query)
        else:
            for table in _tables(query):
                at.follows(table, value)
            found[name] = at.value(value, within=scope)
            _try(at, value, query)
    return map_of(found, "the row")


def _check_many(at: Checking, name: str, many: Many, scope: Scope, query: Parts) -> Type:
    if len(list(_tables(query))) > MOST_LISTS:
        message = f"lists can be nested at most {MOST_LISTS} deep"
        at.report(many.mark, "not-in-sql", message, "find the inner rows in a separate step")
        return NEVER
    inner = related_scope(scope, (name,))
    if isinstance(inner, str):
        message = f"'{name}' is not a relation of table '{query.table.name}' to many rows"
        at.report(many.mark, "relation", message, inner)
        return NEVER
    rows = _rows(query, name)
    at.notes.reads.add(("table", rows.query.table.name))
    return list_of(_check(at, many.each, inner, rows.query))


def _rows(query: Parts, name: str) -> Rows:
    return rows_of(query, s.Name(0, 0, name), (name,))


def _tables(query: Parts) -> Iterator[Table]:
    """Yield the tables whose columns a value may read: the innermost one first."""
    yield query.table
    while query.outer is not query:
        query = query.outer
        yield query.table


def _try(at: Checking, value: Bare, query: Parts) -> None:
    """Compile a value for its mistakes only, unless it has others already."""
    if isinstance(value, Broken) or not at.is_sound(value):
        return
    node, lists = value.node, len(list(_tables(query))) - 1
    try:
        check_nesting(node, _compile(query, node)[0], lists=lists)
    except NotInSql as problem:
        at.scope.report(value.mark, problem.offset, "not-in-sql", problem.message, problem.hint)


def _compile(query: Parts, node: s.Node) -> tuple[Template, Column]:
    """Return a value as SQL, and how it comes out of the database, or each member of a list."""
    if is_list(node):
        return listed(query, node)
    return query.scalar(node), query.column_of("", node)


def is_list(node: s.Node) -> TypeGuard[s.Call]:
    """Return whether a value is `list(relation, column)`."""
    return isinstance(node, s.Call) and node.name == "list"


# ---- optional relations
def optional_relation(query: Parts, shape: Selected) -> str:
    """Return the key, as SQL, of the row that all values of a map come through.

    Nothing where they have no such row in common, or it is always there.
    """
    found = [_path(query, one) for one in leaves(shape)]
    owners = {id(owner): owner for owner, _ in found}
    if len(owners) != 1 or any(len(path) < 2 for _, path in found):
        return ""
    (owner,) = owners.values()
    relations = [path[:-1] for _, path in found]
    prefix = min(relations, key=len)
    while any(one[: len(prefix)] != prefix for one in relations):
        prefix = prefix[:-1]
    return _optional_key(owner, prefix)


def _path(query: Parts, value: Bare | Many) -> tuple[Parts, tuple[str, ...]]:
    path = query.path(value.node) if isinstance(value, Expression) else None
    if path is None or not isinstance(value, Expression):
        return query, ()
    return query.owner(value.node, path), path


def _optional_key(owner: Parts, prefix: tuple[str, ...]) -> str:
    table, relations = owner.table, []
    for name in prefix:
        relations.append(table.relations[name])
        table = table.tables[relations[-1].table]
    if not any(relation.optional for relation in relations):
        return ""
    key = (*prefix, relations[-1].key)
    return owner.reach(s.Name(0, 0, prefix[0]), owner.alias, owner.table, key)


# ---- code
class SelectCode:
    """Collects the columns of one SELECT, and builds the row out of them."""

    def __init__(self, flow: Flow, query: Parts, *, rows: Rows | None = None) -> None:
        """Args: `rows`: the tuple is a JSON list that begins with a part of their key."""
        self.flow, self.query, self.in_json = flow, query, rows is not None
        self.columns: list[Template] = [] if rows is None else [rows.order.partition(",")[0]]

    def row(self, shape: Selected) -> ast.expr:
        """Return the code that builds a row out of the tuple `r`."""
        keys: list[ast.expr | None] = [ast.Constant(name) for name, _ in shape.items]
        return ast.Dict(keys, [self.value(name, value) for name, value in shape.items])

    def value(self, name: str, value: Bare | Selected | Many) -> ast.expr:
        if isinstance(value, Selected):
            return self.map(value)
        if isinstance(value, Many):
            return self.many(name, value)
        assert isinstance(value, Expression)  # noqa: S101 - checked before
        sql, column = _compile(self.query, value.node)
        if is_list(value.node):
            return self.each(sql, self.flow.decoded("r", column, in_json=True))
        at = self.take(self.query.dialect.in_json(sql, column.type) if self.in_json else sql)
        return self.flow.decoded(f"r[{at}]", column, in_json=self.in_json)

    def map(self, shape: Selected) -> ast.expr:
        inner, key = self.row(shape), optional_relation(self.query, shape)
        if not key:
            return inner
        return self.flow.expression(f"None if r[{self.take(key)}] is None else inner", inner=inner)

    def many(self, name: str, many: Many) -> ast.expr:
        """Return the code of a list of rows, which the database gives as JSON."""
        rows = _rows(self.query, name)
        inner = SelectCode(self.flow, rows.query, rows=rows)
        row = inner.row(many.each)
        return self.each(as_json(inner.columns, rows), row)

    def each(self, sql: Template, member: ast.expr) -> ast.expr:
        """Return the code that makes every `r` of a JSON list a `member`."""
        at = self.take(self.query.dialect.nested_json(sql) if self.in_json else sql)
        source = "r[{at}]" if self.in_json else "listed(r[{at}])"
        members = self.flow.expression(source.format(at=at), listed=self.flow.row_code("listed"))
        return ast.ListComp(member, [ast.comprehension(ast.Name("r", ast.Store()), members, [], 0)])

    def take(self, column: Template) -> int:
        self.columns.append(column)
        return len(self.columns) - 1
