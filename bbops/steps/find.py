"""find: read rows of a table."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from pydantic import PlainValidator

from bbops.expressions.known import Facts
from bbops.expressions.types import ANY, INTEGER, Type, list_of, map_of
from bbops.expressions.values import (
    BareField,
    Constant,
    Expression,
    ListValue,
    Value,
    ValueField,
)
from bbops.model import Model
from bbops.sql.query import Query
from bbops.sql.template import Template, commas, seq
from bbops.sql.types import Table, quote
from bbops.steps._aggregate import (
    Aggregate,
    aggregate_code,
    check_aggregate,
    check_order,
    group_clauses,
)
from bbops.steps._base import Checking, Example, Static, Step
from bbops.steps._flow import Flow
from bbops.steps._query import (
    One,
    check_columns,
    check_where,
    first_row,
    order_clause,
    parse_order,
    query_scope,
    report_column,
    returning,
)  # fmt: skip
from bbops.steps._select import Columns, SelectCode, Selected, check_select, read_select

MAX_ROWS = 1000
"""Rows of a list without `limit`."""


class FindParameters(Model):
    """Which rows, which columns, in which order, how many."""

    table: Static
    where: BareField | None = None
    select: Annotated[Columns | Selected, PlainValidator(read_select)] | None = None
    order_by: ValueField | None = None
    limit: ValueField | None = None
    offset: ValueField | None = None
    aggregate: Aggregate | None = None
    one: One = False
    with_total: bool = False


class Find(Step):
    """Give a list of rows; with `one` the first row or null, with `one: required` or 404.

    - Bare names in `where` are columns. Parts without columns are decided before SQL, so an
      optional filter is `query.author == null or author_id == query.author`.
    - Without `limit` a list has at most 1,000 rows. `orderBy` ends with the primary key, so pages
      are stable; null sorts last.
    - A foreign key `author_id` makes the relation `author`: `author.name`, `parent.author.id`, null
      where there is no row. `exists(comments, body == 'a')` and `count(team.members)` ask for the
      rows that refer to this one, by the child table's name or its `reverse`; inside, a name is
      first the related table's, then the outer one's, and `row.x` is the outer row's.
    - `select` is a list of columns, or a map of names to expressions, with maps inside; a map whose
      values all come through one optional relation is null where there is no row.
    - `withTotal: true` gives `{rows, total}`.
    - `aggregate` gives a row for each group, with count, sum (0 of nothing), avg, min and max;
      `orderBy` takes the names. Without `groupBy` there is always one group.
    """

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
        facts: Facts = {}
        if find.where is not None:
            facts = check_where(at, table, find.where, self.place("where"))
        if find.aggregate is not None:
            row = self.check_groups(at, table, find.aggregate)
        else:
            row = self.check_row(at, table, facts)
            self.check_order(at, table)
        for name in ("limit", "offset"):
            at.need(getattr(find, name), "number", f"'{name}'", self.place(name))
        if find.one:
            if find.with_total:
                message = "'withTotal' counts a list, and 'one' gives no list"
                at.report(self.place("withTotal"), "with-total", message)
            is_there = find.one == "required" or self.is_one_group
            return row if is_there else row.or_null()
        if find.with_total:
            return map_of({"rows": list_of(row), "total": INTEGER}, "the result")
        return list_of(row)

    @property
    def is_one_group(self) -> bool:
        """Whether there is always one group: without `groupBy` even no rows make one."""
        aggregate = self.find.aggregate
        return aggregate is not None and not aggregate.group_by and self.find.offset is None

    def check_groups(self, at: Checking, table: Table, given: Aggregate) -> Type:
        for name, value in (("select", self.find.select), ("withTotal", self.find.with_total)):
            if value:
                message = f"'{name}' does not go with 'aggregate'"
                at.report(self.key_place(name), "aggregate", message)
        texts = order_texts(self.find.order_by)
        check_order(at, given, texts, self.place("orderBy"))
        return check_aggregate(at, table, given, self.place("aggregate"))

    def check_row(self, at: Checking, table: Table, facts: Facts) -> Type:
        select = self.find.select
        if isinstance(select, Selected):
            scope = query_scope(at, table)
            query = Query(table, scope, lambda _: ast.Constant(None), bare=True)
            return check_select(at, table, select, scope, query, facts)
        check_columns(at, table, select or ())
        return table.row_type(select)

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
        names, row = self.columns(flow, query, table)
        group = ""
        where: Template = "1"
        if isinstance(find.where, Expression):
            where = query.condition(find.where.node)
        if find.aggregate is not None:
            texts = order_texts(find.order_by) or ()
            order: Template
            group, order = group_clauses(table, find.aggregate, texts)
        else:
            order = self.order(flow, table, query.switches)
        limit = query.parameter(self.count(flow, "limit", 1 if find.one else MAX_ROWS))
        template = seq(
            "SELECT ", names, f" FROM {quote(table.name)} WHERE ", where,
            f"{group} ORDER BY ", order, " LIMIT ", limit,
        )  # fmt: skip
        if find.offset is not None:
            template = seq(template, " OFFSET ", query.parameter(self.count(flow, "offset", 0)))
        code, sql, parameters = flow.statement(query, template)
        read = flow.expression(
            f"await host.database.read({sql}, {parameters})", host=flow.root("host")
        )
        if find.one:
            return code + first_row(flow, self.as_, row, read, find.one)
        rows = flow.expression("charged(rows)", charged="bbops.runtime.rows:charged", rows=read)
        found = ast.ListComp(row, [ast.comprehension(ast.Name("r", ast.Store()), rows, [], 0)])
        if not find.with_total:
            return code + flow.store(self.as_, found)
        return code + self.with_total(flow, table, found)

    def columns(self, flow: Flow, query: Query, table: Table) -> tuple[Template, ast.expr]:
        """Return what is selected as SQL, and the code that makes a row of the tuple `r`."""
        select = self.find.select
        if self.find.aggregate is not None:
            parts, columns = aggregate_code(flow, query, table, self.find.aggregate)
            return commas(parts), flow.row(columns)
        if isinstance(select, Selected):
            made = SelectCode(flow, query)
            row = made.row(select)
            return commas(made.columns), row
        names, columns = returning(table, select or tuple(table.columns))
        return names, flow.row(columns)

    def with_total(self, flow: Flow, table: Table, rows: ast.expr) -> list[ast.stmt]:
        """Count in a statement of its own: beside the rows it would cost many times more."""
        kept = flow.temporary()
        code = flow.run(f"{kept} = rows", rows=rows)
        query = flow.query(table.name)
        where: Template = "1"
        if isinstance(self.find.where, Expression):
            where = query.condition(self.find.where.node)
        template = seq(f"SELECT count(*) FROM {quote(table.name)} WHERE ", where)
        counting, sql, parameters = flow.statement(query, template)
        total = flow.expression(
            f"{{'rows': {kept}, 'total': (await host.database.read({sql}, {parameters}))[0][0]}}",
            host=flow.root("host"),
        )
        return code + counting + flow.store(self.as_, total)

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
