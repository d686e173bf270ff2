"""The shared part of the database steps: conditions, columns, order, and the code around SQL."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Literal

from bbops.base.diagnostics import suggest
from bbops.language.expressions import nodes as s
from bbops.language.expressions.check import braces_hint
from bbops.language.expressions.conversions import conversion
from bbops.language.expressions.emit import constant
from bbops.language.expressions.inside import expressions
from bbops.language.expressions.known import Facts
from bbops.language.expressions.nodes import relations_in
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.types import INTEGER, TEXT, Type, map_of, may_be_null
from bbops.language.expressions.values import (
    Bare,
    Broken,
    Constant,
    Expression,
    ListValue,
    MapValue,
    Value,
)
from bbops.language.expressions.values import Template as ValueTemplate
from bbops.language.sql.computed import returned_columns
from bbops.language.sql.dialect import Template, commas, seq
from bbops.language.sql.filters import text_of
from bbops.language.sql.parts import NotInSql
from bbops.language.sql.query import Query, check_nesting, finds_one
from bbops.language.sql.ruled import allowed, seen
from bbops.language.sql.types import SqlColumn, SqlTable
from bbops.language.steps._base import Checking, mark_of
from bbops.language.steps._flow import Flow
from bbops.language.steps._written import report_computed
from bbops.runtime.data.rows import ENCODERS, fit
from bbops.runtime.values.failures import FlowError
from bbops.runtime.values.identifiers import quote
from bbops.source.yaml.document import Mark

One = bool | Literal["required"]
COUNT = map_of({"count": INTEGER}, "the result")


def query_scope(at: Checking, table: SqlTable, *, bare: bool = True) -> Scope:
    """Return the scope in which `row.<name>`, and with `bare` also names, are columns."""
    if not bare:
        return at.scope.inside(table.name, table.query_types(), bare=False)
    return at.scope.inside(table.name, table.query_types(), related=table)


def check_where(at: Checking, table: SqlTable, where: Bare, place: Mark | None) -> Facts:
    """Report the mistakes of a condition, also those that only its SQL shows.

    Returns:
        The facts about the rows that it finds.
    """
    scope = query_scope(at, table)
    facts, _ = at.condition(where, place, within=scope)
    at.follows(table, where)
    if isinstance(where, Expression):
        try_sql(at, where, Query(table, scope, _nothing, bare=True))
    return facts


def try_sql(at: Checking, value: Expression, query: Query) -> None:
    """Compile a condition for its mistakes only, unless it has others already."""
    try:
        if at.is_sound(value):
            check_nesting(value.node, query.condition(value.node))
    except NotInSql as problem:
        at.scope.report(value.mark, problem.offset, problem.code, problem.message, problem.hint)


def try_assigned(at: Checking, value: Value, query: Query, place: Mark | None) -> None:
    """Compile a value of `data` that may read `row`, for its mistakes only."""
    if isinstance(value, Expression) and not at.is_sound(value):
        return
    try:
        assigned_in_sql(query, value)
    except NotInSql as problem:
        mark = getattr(value, "mark", None) or place
        at.scope.report(mark, problem.offset, problem.code, problem.message, problem.hint)


def assigned_in_sql(query: Query, value: Value) -> Template | None:
    """Return the SQL of a value that reads `row`; None for other values."""
    match value:
        case Expression(node=node) if query.has_columns(node):
            found = query.scalar(node)
            check_nesting(node, found)
            return found
        case ValueTemplate(parts=parts):
            nodes = [part for part in parts if isinstance(part, s.Node)]
            return text_of(query, parts) if any(map(query.has_columns, nodes)) else None
        case MapValue(items=items):
            inside: list[Value] = [item for _, item in items]
        case ListValue(items=members):
            inside = list(members)
        case _:
            return None
    if any(assigned_in_sql(query, item) is not None for item in inside):
        raise NotInSql(0, "maps and lists cannot contain columns", "read the row first, with find")
    return None


def _nothing(_node: s.Node) -> ast.expr:
    return ast.Constant(None)


def check_columns(at: Checking, table: SqlTable, names: Sequence[str]) -> None:
    """Report names that are missing in the table."""
    for name in names:
        if name not in table.columns:
            report_column(at, table, name, mark_of(name))


def report_column(at: Checking, table: SqlTable, name: str, mark: Mark | None) -> None:
    """Report a name that is not a column of the table."""
    message = f"table '{table.name}' has no column '{name}'"
    at.report(mark, "unknown-column", message, suggest(name, table.columns))


def check_data(
    at: Checking, table: SqlTable, data: Value, *, row: bool, place: Mark | None = None,
    facts: Facts | None = None,
) -> Type:  # fmt: skip
    """Report unknown columns and bad values of `data`, which stands at `place`.

    Args:
        row: whether values may read `row`, the stored row, with `facts` about it.
    """
    if not isinstance(data, MapValue):
        return _check_whole(at, table, data, place)
    scope = query_scope(at, table, bare=False) if row else at.scope
    found: dict[str, Type] = {}
    with scope.knowing(facts or {}):
        for name, value in data.items:
            roots = {*at.scope.roots} - {"row"}
            names = {
                relation
                for part in expressions(value)
                for relation in relations_in(part.node, roots)
            }
            at.reads(table.reachable(names))
            found[name] = at.value(value, within=scope)
            mark = mark_of(value) or (data.keys_at or {}).get(name)
            if name not in table.columns:
                report_column(at, table, name, (data.keys_at or {}).get(name))
            elif table.columns[name].computed is not None:
                report_computed(at, name, (data.keys_at or {}).get(name))
            elif isinstance(value, Constant):
                _check_constant(at, table.columns[name], value, mark)
            elif _check_column(at, table.columns[name], value, found[name], mark) and row:
                try_assigned(at, value, Query(table, scope, _nothing, bare=False), mark)
    return map_of(found)


def _check_column(
    at: Checking, column: SqlColumn, value: Value, of: Type, mark: Mark | None
) -> bool:  # fmt: skip
    """Report a value that a column cannot hold; return whether it can."""
    if not _takes(column, of):
        message = f"column '{column.name}' of type {column.type} cannot hold {of}"
        at.report(mark, "type", message, conversion(of, column.value_type))
        return False
    if of.hides and not column.private:
        message = f"column '{column.name}' is not private, but would store a private value"
        at.report(mark, "private-stored", message, "add 'private: true' to the column")
    if not column.nullable:
        at.refuse_null(value, of, f"column '{column.name}'", mark)
    return column.nullable or not may_be_null(of)


def _check_whole(at: Checking, table: SqlTable, data: Value, place: Mark | None) -> Type:
    """Check `data: ${ … }`, whose map may be known."""
    of = at.refuse_null(data, at.value(data), "'data'", place)
    place = mark_of(data) or place
    if of.kind not in {"any", "map", "list"} or not isinstance(data, Expression | Broken):
        at.report(place, "data", f"'data' is a map of columns, got {of}")
        return of
    given = of.item if of.kind == "list" else of
    for name, field in (given.fields or {} if given else {}).items():
        if name not in table.columns:
            report_column(at, table, name, place)
        elif table.columns[name].computed is not None:
            report_computed(at, name, place)
        elif field.absent or not may_be_null(field) or table.columns[name].nullable:
            _check_column(at, table.columns[name], data, field.not_null(), place)
        else:
            message = f"field '{name}' may be null, and column '{name}' takes no null"
            hint = f"leave it out with '| omit', or set 'data' to a map with '{name}'"
            at.report(place, "maybe-null", message, hint)
    return of


def _check_constant(at: Checking, column: SqlColumn, value: Constant, mark: Mark | None) -> None:
    if value.value is None and not column.nullable:
        at.report(mark, "type", f"column '{column.name}' is not nullable")
        return
    try:
        ENCODERS[column.type](value.value, column.name)
        if column.longest is not None:
            fit(value.value, column.name, column.longest)
    except FlowError as problem:
        at.report(mark, "type", problem.message, braces_hint(value.value, at.scope))
        return
    if column.enum and value.value is not None and value.value not in column.enum:
        options = [str(option) for option in column.enum]
        message = f"column '{column.name}' is one of {', '.join(options)}, never '{value.value}'"
        at.report(mark, "unknown-option", message, suggest(str(value.value), options))


_ALSO = {
    "number": {"integer", "number"}, "decimal": {"integer", "number", "text"},
    "integer": {"number"}, "bigint": {"number"}, "datetime": {"text"}, "date": {"text"},
    "binary": {"text"},
}  # fmt: skip


def _takes(column: SqlColumn, of: Type) -> bool:
    """Return whether a column may store a value of this type."""
    own = column.value_type.kind
    return own == "any" or of.kind in {"any", "null", own, *_ALSO.get(column.type, ())}


# ---- code
def encoded(flow: Flow, table: str, column: SqlColumn, value: Value) -> ast.expr:
    """Return the code that checks and encodes a value for its column, as far as needed."""
    if isinstance(value, Constant) and not isinstance(value.value, dict | list):
        with suppress(FlowError):
            if column.longest is not None:
                fit(value.value, column.name, column.longest)
            stored = flow.dialect.encoders[column.type](value.value, f"{table}.{column.name}")
            if stored is None or isinstance(stored, str | int | float | bytes):
                return constant(stored)
    code = flow.value(value)
    if column.longest is not None:
        given = [code, ast.Constant(f"{table}.{column.name}"), ast.Constant(column.longest)]
        return ast.Call(flow.row_code("fit"), given, [])
    if isinstance(value, Expression):
        kind = flow.emitter.scope.type_of(value.node).kind
        if kind in {"text", "integer"} and kind == column.value_type.kind and column.type in _PLAIN:
            return code
    return _checked(flow, table, column, code)


def _checked(flow: Flow, table: str, column: SqlColumn, code: ast.expr) -> ast.expr:
    name = {"string": "text", "bigint": "integer"}.get(column.type, column.type)
    encode = flow.row_code(f"to_{name}")
    return ast.Call(encode, [code, ast.Constant(f"{table}.{column.name}")], [])


_PLAIN = frozenset({"string", "text", "integer", "bigint"})
"""Column types that store texts or whole numbers unchanged."""


def filled(flow: Flow, table: SqlTable, given: Mapping[str, Value]) -> dict[str, ast.expr]:
    """Return encoded values of every column that an insert sets, given or automatic."""
    out: dict[str, ast.expr] = {}
    for name, column in table.columns.items():
        if name in given:
            out[name] = encoded(flow, table.name, column, given[name])
        elif column.auto is None and column.default is not None:
            out[name] = encoded(flow, table.name, column, Constant(column.default, None))
        elif column.auto in _MOMENTS:
            out[name] = _stamped(flow, table.name, column)
        elif (code := automatic(flow, column)) is not None:
            out[name] = _checked(flow, table.name, column, code)
    return out


_MOMENTS = frozenset({"created", "updated"})


def _stamped(flow: Flow, table: str, column: SqlColumn) -> ast.expr:
    """Return the code of the step's time, in the column's form."""
    if column.type == "datetime":
        return flow.expression("bind(now)", bind=flow.row_code("bind_datetime"), now=flow.now())
    return _checked(flow, table, column, flow.now())


def automatic(flow: Flow, column: SqlColumn) -> ast.expr | None:
    """Return the code of an automatic value, if the column has one."""
    if column.auto == "uuid":
        return flow.expression("host.random.uuid()", host=flow.root("host"))
    if column.auto in _MOMENTS:
        return flow.now()
    if column.default is not None:
        return constant(column.default)
    return None


def assignments(flow: Flow, query: Query, table: SqlTable, data: MapValue) -> Template:
    """Return `a = ?, b = b + ?` of an update; `updated` columns get the current time."""
    parts: list[Template] = []
    given = dict(data.items)
    for name, value in given.items():
        parts.append(seq(f"{quote(name)} = ", _assigned(flow, query, table, name, value)))
    for name, column in table.columns.items():
        if column.auto == "updated" and name not in given:
            at = query.parameter(_stamped(flow, table.name, column))
            parts.append(seq(f"{quote(name)} = ", at))
    return commas(parts)


def set_deleted(flow: Flow, query: Query, table: SqlTable) -> Template:
    """Return the assignment of `delete` in a table with `softDelete`; else nothing."""
    if table.rules is None or not table.rules.soft_delete:
        return ""
    column = table.columns[table.rules.soft_delete]
    at = query.parameter(_stamped(flow, table.name, column))
    moved = assignments(flow, query, table, MapValue(()))
    own = seq(f"{quote(column.name)} = ", at)
    return commas([own, moved]) if moved != commas(()) else own


def _assigned(flow: Flow, query: Query, table: SqlTable, name: str, value: Value) -> Template:
    computed, column = assigned_in_sql(query, value), table.columns[name]
    if computed is not None:
        of = query.type_of(value.node) if isinstance(value, Expression) else TEXT
        stored = flow.dialect.assigned(computed, column, sure=column.takes_as_is(of))
        return stored if column.longest is None else flow.dialect.fitted(stored, column)
    return query.parameter(encoded(flow, table.name, column, value))


def write_rows(
    flow: Flow, table: SqlTable, query: Query, head: Template, where: Bare, *,
    one: One, as_: str | None, operation: str, looks: bool = False,
) -> list[ast.stmt]:  # fmt: skip
    """Return the code of an update or delete: the changed row with `one`, or the number of rows.

    Args:
        operation: the operation in the rules of the table.
        looks: the new row must meet them, too.
    """
    assert isinstance(where, Expression)  # noqa: S101 - the check has tested it
    template, returned = seq(head, _matching(query, table, where, operation)), list[Template]()
    if one:
        returned.append(returned_columns(table, list(table.columns), flow.dialect))
    if looks and (meets := allowed(query, table, operation)) is not None:
        returned.append(as_value(meets))
    is_checked = len(returned) > bool(one)
    if not returned and query.visible.found:
        returned.append("1")  # after WITH the driver of SQLite does not return the number of rows
    if returned:
        template = seq(template, " RETURNING ", commas(returned))
    code, sql, parameters = flow.statement(query, template)
    limit = ", at_most=1" if one and not finds_one(query, where.node) else ""
    host = flow.root("host")
    if is_checked:
        write = flow.expression(
            f"await write_allowed(host.database, {sql}, {parameters}{limit})",
            write_allowed="bbops.runtime.data.rules:write_allowed", host=host,
        )  # fmt: skip
    else:
        method = "write" if returned else "change"
        write = flow.expression(
            f"await host.database.{method}({sql}, {parameters}{limit})", host=host
        )
    if returned and not one:
        changed = "bbops.runtime.data.rules:changed"
        write = flow.expression("changed(write)", changed=changed, write=write)
    if not one:
        return code + flow.store(as_, flow.expression("{'count': write}", write=write))
    return code + first_row(flow, as_, flow.row(table.columns.values()), write, one)


def _matching(query: Query, table: SqlTable, where: Expression, operation: str) -> Template:
    """Return the condition of the rows of a write: visible, and allowed to change."""
    wanted = query.condition(where.node)
    if table.rules is None:
        return wanted
    return ("and", seen(query, table, operation), wanted)


def as_value(condition: Template) -> Template:
    """Return a condition as a column of RETURNING: it may be decided before SQL."""
    return seq("(", condition, ") IS TRUE")


def first_row(
    flow: Flow, as_: str | None, row: ast.expr, rows: ast.expr, one: One
) -> list[ast.stmt]:  # fmt: skip
    """Return the code that keeps the first row, or null, or throws 404.

    Args:
        row: the code that makes a row of the tuple `r`.
    """
    code = flow.run(
        f"r = first(rows, {one == 'required'})", first=flow.row_code("first"), rows=rows
    )
    if one != "required":
        row = flow.expression("None if r is None else row", row=row)
    return code + flow.store(as_, row)
