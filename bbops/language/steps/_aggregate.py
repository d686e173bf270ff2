"""`aggregate` and `distinct` of find: mistakes, the type of a row, and their SQL."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Annotated, Final

from pydantic import Field, PlainValidator

from bbops.base.diagnostics import suggest
from bbops.base.model import Model
from bbops.base.names import VariableName
from bbops.language.expressions import nodes as s
from bbops.language.expressions.inside import nodes
from bbops.language.expressions.known import Facts
from bbops.language.expressions.scope import Report, Scope
from bbops.language.expressions.types import INTEGER, NEVER, NUMBER, Type, concealed, map_of
from bbops.language.expressions.values import Bare, BareField, Broken, Expression
from bbops.language.sql.dialect import Template, commas, seq
from bbops.language.sql.parts import Joins
from bbops.language.sql.query import Query
from bbops.language.sql.types import SqlColumn, SqlTable
from bbops.language.steps._checking import Checking, mark_of
from bbops.language.steps._order import parse_order
from bbops.language.steps._query import query_scope, report_column, try_sql
from bbops.language.steps._shape import Groups, read_groups
from bbops.runtime.values.identifiers import quote
from bbops.source.yaml.document import Mark, Text

_COMPARED: Final = "text number boolean datetime date"
_ORDERED: Final = "number text datetime date"
_TAKES: Final = {
    "countDistinct": _COMPARED, "sum": "number", "avg": "number", "min": _ORDERED, "max": _ORDERED,
}  # fmt: skip
"""The functions of a value, and the types of the value."""
FUNCTIONS_OF: Final = {
    "count": "count(condition?) → integer", "countDistinct": "countDistinct(x) → integer",
    "sum": "sum(x, condition?) → number, 0 of nothing",
    "avg": "avg(x, condition?) → number or null",
    "min": "min(x, condition?) → the type of x, or null",
    "max": "max(x, condition?) → the type of x, or null",
}  # fmt: skip
"""The functions of `values`, each with its syntax and its result."""
_MOST: Final = {"count": 1, "countDistinct": 1}
_VALUES: Final = (
    "a value is count(), count(condition), countDistinct(x), sum(x), avg(x), min(x) or max(x)"
)
GROUPS: Final = "groups"
"""The alias of the groups in SQL for `having`."""


class Aggregate(Model):
    """The columns of a group, its computed values, and the condition of the groups."""

    group_by: Annotated[Groups, PlainValidator(read_groups)] = Field(default_factory=Groups)
    values: Annotated[dict[VariableName, BareField], Field(min_length=1)]
    having: BareField | None = None


def check_aggregate(
    at: Checking, table: SqlTable, given: Aggregate, facts: Facts, place: Mark | None
) -> Type:  # fmt: skip
    """Report the mistakes of an aggregate and return the type of a group.

    Args:
        facts: the facts about the rows.
    """
    found = check_groups(at, table, given.group_by, facts, "'groupBy'")
    scope, is_grouped = query_scope(at, table), bool(given.group_by.items)
    for name, value in given.values.items():
        if name in found:
            what = "a column" if given.group_by.is_list else "a name"
            message = f"'{name}' is {what} of 'groupBy' already"
            at.report(mark_of(value) or place, "aggregate", message, "choose another name")
        with scope.knowing(facts):
            found[name] = _check_value(at, scope, table, value, place, grouped=is_grouped)
    for name in found if given.having is not None else ():
        if name in {*at.scope.roots, "vars"}:
            message = f"'{name}' is a reserved word, which 'having' reads as something else"
            at.report(place, "aggregate", message, "choose another name")
    if given.having is not None:
        _check_having(at, found, given.having, place)
    return map_of(found, "the group")


def check_groups(
    at: Checking, table: SqlTable, groups: Groups, facts: Facts, what: str
) -> dict[str, Type]:  # fmt: skip
    """Report expressions that rows cannot be grouped by and return the type of each name."""
    scope, found = query_scope(at, table), dict[str, Type]()
    for name, value in groups.items:
        if groups.is_list and name not in table.columns:
            report_column(at, table, name, mark_of(value))
            found[name] = NEVER
            continue
        with scope.knowing(facts):
            found[name] = at.value(value, within=scope)
        at.follows(table, value)
        _try_group(at, scope, table, name, value, what)
    return found


def _try_group(
    at: Checking, scope: Scope, table: SqlTable, name: str, value: Bare, what: str
) -> None:  # fmt: skip
    if isinstance(value, Broken) or not at.is_sound(value):
        return
    query, of = _query(scope, table), scope.type_of(value.node)
    if not query.has_columns(value.node):
        message = f"'{name}' of {what} reads no column, so it is the same for all rows"
        at.report(mark_of(value), "aggregate", message, "remove it, or read a column")
    elif of.kind in {"any", "null", "list", "map"}:
        kind = "json" if of.kind == "any" else of.kind
        message = f"{kind} values are not compared in SQL, so '{name}' makes no groups"
        at.report(mark_of(value), "not-in-sql", message, "choose another column")
    else:
        try_sql(at, value, query)


def _query(scope: Scope, table: SqlTable) -> Query:
    query = Query(table, scope, lambda _: ast.Constant(None), bare=True)
    query.joins = Joins(query.alias)
    return query


# ---- values
def _check_value(
    at: Checking, scope: Scope, table: SqlTable, value: Bare, place: Mark | None, *, grouped: bool
) -> Type:
    if isinstance(value, Broken):
        return at.value(value)
    node, place = value.node, mark_of(value) or place
    if not isinstance(node, s.FunctionCall) or node.name not in {"count", *_TAKES}:
        at.report(place, "aggregate", _VALUES)
        return INTEGER
    most, least = _MOST.get(node.name, 2), 0 if node.name == "count" else 1
    if not least <= len(node.args) <= most:
        takes = "at most one argument" if not least else "one argument"
        takes = "a value and perhaps a condition" if most == 2 else takes
        at.report(place, "aggregate", f"'{node.name}' takes {takes}")
        return INTEGER
    return _check_call(at, scope, table, node, place, grouped=grouped)


def _check_call(
    at: Checking,
    scope: Scope,
    table: SqlTable,
    node: s.FunctionCall,
    place: Mark | None,
    *,
    grouped: bool,
) -> Type:
    argument, condition = (
        None if part is None else Expression(part, place) for part in parts_of(node)
    )
    facts: Facts = {}
    if condition is not None:
        at.follows(table, condition)
        facts, _ = at.condition(condition, place, within=scope)
        try_sql(at, condition, _query(scope, table))
    if argument is None:
        return INTEGER
    at.follows(table, argument)
    with scope.knowing(facts):
        of = at.value(argument, within=scope)
    at.fit(argument, of, _TAKES[node.name], f"'{node.name}'", place, null=True)
    if of.kind == "any" and at.is_sound(argument):
        message = f"'{node.name}' of json is not supported in SQL"
        at.report(place, "not-in-sql", message, "read the rows first, with find")
    else:
        try_sql(at, argument, _query(scope, table))
    return result_of(node, of, always=grouped and condition is None)


def parts_of(node: s.FunctionCall) -> tuple[s.Node | None, s.Node | None]:
    """Return the value of an aggregate function, and the condition of its rows."""
    if node.name == "count":
        return None, node.args[0] if node.args else None
    return node.args[0], node.args[1] if len(node.args) > 1 else None


def result_of(node: s.FunctionCall, of: Type, *, always: bool) -> Type:
    """Return the type of `sum(x)` and the like; the result of private values is private.

    Args:
        always: there is always a row.
    """
    if node.name == "countDistinct":
        return concealed(INTEGER, by=[of])
    if node.name == "sum":
        return of.not_null()
    found = of
    if node.name == "avg":
        average = Type("decimal") if of.kind == "decimal" else NUMBER
        found = concealed(replace(average, nullable=of.nullable), by=[of])
    return found if always and not of.nullable else found.or_null()


# ---- having
def _check_having(
    at: Checking, types: Mapping[str, Type], having: Bare, place: Mark | None
) -> None:  # fmt: skip
    if isinstance(having, Expression):
        for node in nodes(having.node):
            if isinstance(node, s.FunctionCall) and node.name in {"count", *_TAKES}:
                message = "'having' compares names of 'groupBy' and 'values'"
                hint = f"give '{node.name}(…)' a name in 'values', and write that name here"
                at.scope.report(having.mark or place, node.start, "having", message, hint)
                return
    scope = groups_scope(at.scope, types)
    scope.report = _as_having(at.scope.report)
    at.condition(having, place, within=scope)
    if isinstance(having, Expression):
        try_sql(at, having, Query(groups_table(types), scope, _nothing, bare=True))


def _as_having(report: Report) -> Report:
    """Return a report that describes an unknown name as a missing group, not a column."""
    unknown = f"table '{GROUPS}' has no column"

    def report_group(mark: Mark | None, offset: int, code: str, message: str, hint: str) -> None:
        if code == "unknown-column" and message.startswith(unknown):
            code, message = "having", message.replace(unknown, "'aggregate' has no name")
        report(mark, offset, code, message, hint)

    return report_group


def _nothing(_node: s.Node) -> ast.expr:
    return ast.Constant(None)


def groups_scope(scope: Scope, types: Mapping[str, Type]) -> Scope:
    """Return the scope in which the names of groups and values are bare."""
    return scope.inside(GROUPS, types)


def groups_table(types: Mapping[str, Type]) -> SqlTable:
    """Return the groups as a table for the queries of `having`."""
    kinds = {"text": "string", "any": "json", "null": "json"}
    columns = {
        name: SqlColumn(name, kinds.get(of.kind, of.kind), nullable=True)
        for name, of in types.items()
    }
    return SqlTable(GROUPS, columns, ())


# ---- order
def check_group_order(
    at: Checking, names: Sequence[str], texts: Sequence[tuple[str, Mark | None]] | None,
    place: Mark | None, *, of: str = "aggregate",
) -> None:  # fmt: skip
    """Report an order by anything but names: of a group, of what is `distinct`, of a `union`."""
    code = "distinct-order" if of == "distinct" else "order"
    what = "aggregate" if of == "aggregate" else "select"
    if texts is None:
        at.report(place, code, f"with '{of}' the order is 'name.desc', or a list of such")
    for text, mark in texts or ():
        name = ".".join(parse_order(text)[0])
        if name not in names:
            hint = suggest(name, names) or "known here: " + ", ".join(names)
            at.report(mark or place, code, f"'{text}' is not a name in '{what}'", hint)


# ---- The SQL of groups: the columns and the order of `aggregate` and `distinct` of find


@dataclass(frozen=True, slots=True)
class Grouped:
    """A statement without its order: a row for each group.

    Attributes:
        columns: the column that decodes each value.
    """

    sql: Template
    columns: list[SqlColumn]
    groups: int
    query: Query

    def order(self, texts: Sequence[tuple[str, Mark | None]]) -> str:
        """Return the text after ORDER BY: it ends with the columns of the groups."""
        names = [str(column.name) for column in self.columns]
        keys = [(".".join(path), way) for path, way in (parse_order(text) for text, _ in texts)]
        used = {name for name, _ in keys}
        keys += [(name, "asc") for name in names[: self.groups] if name not in used]
        up, down = self.query.dialect.ways(nullable=True)
        parts = [
            _by_value(self.query, self.columns[at], str(at + 1)) + (down if way == "desc" else up)
            for at, way in ((names.index(name), way) for name, way in keys)
        ]
        return ", ".join(parts) or "1"

    def total(self) -> Template:
        """Return the statement that counts the groups."""
        return seq("SELECT count(*) FROM (", self.sql, ") AS _counted")


def group_code(
    query: Query, groups: Groups, given: Aggregate | None, where: Template
) -> Grouped:  # fmt: skip
    """Return the statement of groups of a query's rows.

    Args:
        where: the condition of the rows.
    """
    joined = copy(query)
    joined.joins = joins = Joins(query.alias)
    cells = [
        (name, *_group(joined, name, node)) for name, node in map(_node_of, groups.items)
    ]  # fmt: skip
    values = given.values if given is not None else {}
    types = [query.type_of(node) for _, node in map(_node_of, groups.items)]
    for name, node in map(_node_of, values.items()):
        sql, of = _value(joined, node)
        cells.append((name, sql, SqlColumn(Text(name), _stored(of), nullable=True)))
        types.append(of)
    columns = [column for _, _, column in cells]
    places = [_by_value(query, column, str(at + 1)) for at, column in enumerate(columns)]
    places = places[: len(groups.items)]
    selected = commas([seq(sql, f" AS {quote(name)}") for name, sql, _ in cells])
    whole = seq(
        "SELECT ", selected, f" FROM {query.rows}{joins.sql} WHERE ", where,
        f" GROUP BY {', '.join(places)}" if places else "",
    )  # fmt: skip
    if given is not None and isinstance(given.having, Expression):
        named = {name: of for (name, _, _), of in zip(cells, types, strict=True)}
        condition = _having(query, named, given.having.node)
        whole = seq("SELECT * FROM (", whole, f") AS {quote(GROUPS)} WHERE ", condition)
    return Grouped(whole, columns, len(groups.items), query)


def _node_of(item: tuple[str, Bare]) -> tuple[str, s.Node]:
    name, value = item
    assert isinstance(value, Expression)  # noqa: S101 - the check has tested it
    return name, value.node


def _group(query: Query, name: str, node: s.Node) -> tuple[Template, SqlColumn]:
    column = query.column_of(name, node)
    column = SqlColumn(Text(name), column.type, nullable=True)
    sql = query.scalar(node)
    is_text = query.type_of(node).kind == "text"
    return (seq(sql, query.dialect.by_code_point) if is_text else sql), column


def _value(query: Query, node: s.Node) -> tuple[Template, Type]:
    assert isinstance(node, s.FunctionCall)  # noqa: S101 - the check has tested it
    argument, condition = parts_of(node)
    only = "" if condition is None else seq(" FILTER (WHERE ", query.condition(condition), ")")
    if argument is None:
        return seq("count(*)", only), Type("integer")
    of = query.type_of(argument)
    sql = query.dialect.aggregated(node.name, query.scalar(argument), of.kind, only)
    return sql, result_of(node, of, always=False)


def _stored(of: Type) -> str:
    return "string" if of.kind == "text" else of.kind


def _having(query: Query, types: dict[str, Type], node: s.Node) -> Template:
    asked = copy(query)
    asked.table, asked.alias, asked.outer = groups_table(types), quote(GROUPS), asked
    asked.scope = groups_scope(query.scope, types)
    return asked.condition(node)


def _by_value(query: Query, column: SqlColumn, sql: str) -> str:
    return sql + query.dialect.by_value if column.type == "decimal" else sql
