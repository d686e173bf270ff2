"""find: read rows of a table."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from pydantic import PlainValidator
from pydantic_core import PydanticCustomError

from bbops.expressions.types import ANY, Type, list_of
from bbops.expressions.values import (
    BareField,
    Constant,
    Expression,
    ListValue,
    Value,
    ValueField,
)
from bbops.model import Model
from bbops.sql.template import Template, seq
from bbops.sql.types import Table, quote
from bbops.steps._base import Checking, Example, Static, Step
from bbops.steps._flow import Flow
from bbops.steps._query import (
    One,
    check_columns,
    check_where,
    first_row,
    order_clause,
    parse_order,
    report_column,
    returning,
)  # fmt: skip

MAX_ROWS = 1000
"""Rows of a list without `limit`."""


def read_columns(data: Any) -> tuple[str, ...]:
    """Return the names of a list of columns, as they stand in the file."""
    if not isinstance(data, list) or not data or not all(isinstance(name, str) for name in data):
        hint = f"write [{data}]" if isinstance(data, str) and data.isidentifier() else ""
        raise PydanticCustomError("columns", "'select' is a list of columns", {"hint": hint})
    if "*" in data:
        hint = "leave 'select' out for all columns"
        raise PydanticCustomError(
            "columns", "'select' is a list of columns, without '*'", {"hint": hint}
        )
    return tuple(data)


class FindParameters(Model):
    """Which rows, which columns, in which order, how many."""

    table: Static
    where: BareField | None = None
    select: Annotated[tuple[str, ...], PlainValidator(read_columns)] | None = None
    order_by: ValueField | None = None
    limit: ValueField | None = None
    offset: ValueField | None = None
    one: One = False


class Find(Step):
    """Give a list of rows; with `one` the first row or null, with `one: required` or 404."""

    title: ClassVar[str] = "Database Query: find"
    fits_transaction: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Unfinished notes, newest first",
            "- find:\n"
            "    table: notes\n"
            "    where: not done and (input.word == null or (title | contains(input.word)))\n"
            "    select: [title]\n"
            "    orderBy: id.desc\n"
            "    limit: 2\n"
            "  as: notes\n"
            "- return:\n    value: ${ vars.notes }",
            input={"word": "e"},
            value=[{"title": "three"}, {"title": "one"}],
        ),
        Example(
            "One, or 404",
            "- find: { table: notes, where: id == 99, one: required }\n",
            status=404,
            value={"error": {"code": "notFound", "message": "not found"}},
        ),
    )

    find: FindParameters

    def check(self, at: Checking) -> Type:
        find = self.find
        table = at.table(find.table)
        if table is None:
            return ANY
        if find.where is not None:
            check_where(at, table, find.where, self.place("where"))
        check_columns(at, table, find.select or ())
        self.check_order(at, table)
        for name in ("limit", "offset"):
            at.need(getattr(find, name), "number", f"'{name}'", self.place(name))
        row = table.row_type(find.select)
        if find.one:
            return row if find.one == "required" else row.or_null()
        return list_of(row)

    def check_order(self, at: Checking, table: Table) -> None:
        order = self.find.order_by
        found = at.value(order)
        texts = order_texts(order)
        if order is not None and texts is None:
            found = at.refuse_null(order, found, "'orderBy'", self.place("orderBy"))
            if found.kind not in {"text", "any"}:
                message = "'orderBy' is 'column.desc', or a list of such"
                at.report(self.place("orderBy"), "order", message)
        for text, mark in texts or ():
            column, direction = parse_order(text)
            if direction not in {"asc", "desc"} or _ELSEWHERE(text):
                message = f"'{text}' does not end with '.asc' or '.desc'"
                at.report(mark, "order", message, _order_hint(text))
            elif column not in table.columns:
                report_column(at, table, column, mark)

    def code(self, flow: Flow) -> list[ast.stmt]:
        find = self.find
        table = flow.tables[find.table]
        query = flow.query(table.name)
        names, columns = returning(table, find.select or tuple(table.columns))
        where: Template = "1"
        if isinstance(find.where, Expression):
            where = query.condition(find.where.node)
        order = self.order(flow, table, query.switches)
        limit = query.parameter(self.count(flow, "limit", 1 if find.one else MAX_ROWS))
        template = seq(
            f"SELECT {names} FROM {quote(table.name)} WHERE ", where,
            " ORDER BY ", order, " LIMIT ", limit,
        )  # fmt: skip
        if find.offset is not None:
            template = seq(template, " OFFSET ", query.parameter(self.count(flow, "offset", 0)))
        code, sql, parameters = flow.statement(query, template)
        read = flow.expression(
            f"await host.database.read({sql}, {parameters})", host=flow.root("host")
        )
        if find.one:
            return code + first_row(flow, self.as_, columns, read, find.one)
        rows = flow.expression("charged(rows)", charged="bbops.runtime.rows:charged", rows=read)
        return code + flow.store(self.as_, flow.rows(columns, rows))

    def count(self, flow: Flow, name: str, default: int) -> ast.expr:
        value: Value | None = getattr(self.find, name)
        if value is None or (name == "limit" and self.find.one):
            return ast.Constant(default)
        if isinstance(value, Constant) and type(value.value) is int:
            return ast.Constant(value.value)
        return flow.expression(
            "row_count(value, what)",
            row_count="bbops.runtime.rows:row_count",
            value=flow.value(value),
            what=ast.Constant(name),
        )

    def order(self, flow: Flow, table: Table, switches: list[ast.expr]) -> Template:
        texts = order_texts(self.find.order_by)
        if texts is not None:
            return order_clause(table, [parse_order(text) for text, _ in texts])
        clauses = {
            f"{name}.{direction}": order_clause(table, [(name, direction)])
            for name in table.columns for direction in ("asc", "desc")
        }  # fmt: skip
        chosen = flow.constant("bbops.runtime.statements:OrderBy", clauses)
        switches.append(
            flow.expression("order(value)", order=chosen, value=flow.value(self.find.order_by))
        )
        return ("raw", len(switches) - 1, next(iter(clauses.values())))


_ELSEWHERE = re.compile(r"(?P<down>-)(\w+)|(\w+) +(?P<way>asc|desc)", re.IGNORECASE).fullmatch


def _order_hint(text: str) -> str:
    """Return the cure for what other languages write: `-title`, `title desc`."""
    found = _ELSEWHERE(text)
    if found is None:
        return ""
    way = "desc" if found["down"] else found["way"].lower()
    return f"write '{found[2] or found[3]}.{way}'"


def order_texts(order: Value | None) -> Sequence[tuple[str, Any]] | None:
    """Return the constant texts of `orderBy` with their places; None when it is computed."""
    match order:
        case None:
            return ()
        case Constant(value=str()):
            return ((order.value, order.mark),)
        case ListValue(items=items) if all(isinstance(i, Constant) for i in items):
            return tuple((str(i.value), i.mark) for i in items if isinstance(i, Constant))
        case _:
            return None
