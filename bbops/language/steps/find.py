"""find: read rows of a table."""

from __future__ import annotations

import ast
from typing import Annotated, ClassVar

from pydantic import PlainValidator

from bbops.base.model import Model
from bbops.language.expressions.known import Facts
from bbops.language.expressions.nodes import request_field
from bbops.language.expressions.types import ANY, INTEGER, TEXT, Type, list_of, map_of
from bbops.language.expressions.values import BareField, Constant, Expression, Value, ValueField
from bbops.language.sql.query import Query
from bbops.language.sql.template import Template, commas, seq
from bbops.language.sql.types import Table
from bbops.language.steps._aggregate import (
    Aggregate,
    aggregate_code,
    check_aggregate,
    check_group_order,
    group_clauses,
)
from bbops.language.steps._base import Checking, Example, Static, Step
from bbops.language.steps._flow import Flow
from bbops.language.steps._order import (
    check_order,
    fixed_order,
    order_by,
    order_clause,
    order_texts,
)
from bbops.language.steps._paging import begin_page
from bbops.language.steps._query import (
    One,
    check_columns,
    check_where,
    first_row,
    query_scope,
    returning,
)
from bbops.language.steps._select import SelectCode, check_select
from bbops.language.steps._shape import Columns, Selected, read_select
from bbops.runtime.data.orders import OrderBy

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
    after: ValueField | None = None
    aggregate: Aggregate | None = None
    one: One = False
    with_total: bool = False


class Find(Step):
    """Give a list of rows; with `one` the first row or null, with `one: required` or 404.

    - Bare names in `where` are columns. Parts without columns are decided before SQL, so an
      optional filter is `query.author == null or author_id == query.author`.
    - Without `limit` a list has at most 1,000 rows. `orderBy` (`created_at.desc`,
      `author.name.asc`, or a list of such) ends with the primary key in the direction of the last
      one, so pages are stable; null sorts last in both directions. In `orderBy: ${ query.sort }`
      the shape has an `enum` of such orders: of columns of the table, and of the rows that its
      relations lead to, but for private ones.
    - `after: ${ query.cursor }` gives a page as `{rows, next}` (pagination): `next` is the cursor
      to the page behind it, null at the end, and a cursor of null is the first page. It holds the
      last row's values of what orders the rows, signed for this step and order; any other is 400
      `invalidCursor`. So a page costs the same wherever it is, and rows that come or go move no
      other. The key is made once by the server, or is `BBOPS_CURSOR_KEY` of its environment, which
      several servers share.
    - A foreign key `author_id` makes the relation `author`: `author.name`, `parent.author.id`, null
      where there is no row. `exists(comments, body == 'a')`, `count(team.members)`,
      `sum(lines, price, not free)` and `list(tags, tag.name)` ask for the rows that refer to this
      one, by the child table's name or its `reverse`. `sum` leaves nulls out, and is 0 of nothing;
      `list` is in the order of the primary key, and stands for itself in `select`, or behind `in`.
      Inside, a name is first the related table's, then the outer one's, and `row.x` is the outer
      row's.
    - `select` is a list of columns, or a map of names to expressions, with maps inside; a map whose
      values all come through one optional relation is null where there is no row. A list of one map
      gives the rows of the relation that its name is: `comments: [ { body: body } ]`, in the
      order of the primary key, at most 1,000, and lists in them up to four deep; it is all one
      statement.
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
            "A page, and the cursor to the next one",
            "- find: { table: notes, orderBy: title, limit: 2, after: null }\n"
            "  as: page\n"
            '- find: { table: notes, orderBy: title, limit: 2, after: "${ vars.page.next }" }\n'
            "  as: page\n"
            "- return:\n    value: ${ vars.page.rows | pluck('title') }",
            value=["two"],
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
            check_order(at, table, find.order_by, self.place("orderBy"), paged=self.is_paged)
        for name in ("limit", "offset"):
            at.need(getattr(find, name), "number", f"'{name}'", self.place(name))
        self.check_page(at)
        return self.result(at, row)

    def result(self, at: Checking, row: Type) -> Type:
        find = self.find
        if find.one:
            if find.with_total:
                message = "'withTotal' counts a list, and 'one' gives no list"
                at.report(self.place("withTotal"), "with-total", message)
            is_there = find.one == "required" or self.is_one_group
            return row if is_there else row.or_null()
        beside = {"next": TEXT.or_null()} if self.is_paged else {}
        if find.with_total:
            beside["total"] = INTEGER
        return map_of({"rows": list_of(row), **beside}, "the result") if beside else list_of(row)

    @property
    def is_paged(self) -> bool:
        """Whether it gives pages: also with `after: null`, which is the first one."""
        return "after" in self.find.model_fields_set

    @property
    def is_one_group(self) -> bool:
        """Whether there is always one group: without `groupBy` even no rows make one."""
        aggregate = self.find.aggregate
        return aggregate is not None and not aggregate.group_by and self.find.offset is None

    def check_page(self, at: Checking) -> None:
        at.need(self.find.after, "text", "'after'", self.place("after"), null=True)
        for name in ("one", "offset", "aggregate") if self.is_paged else ():
            if getattr(self.find, name):
                message = f"'{name}' does not go with 'after', which gives pages of rows"
                at.report(self.key_place(name), "paging", message)

    def check_groups(self, at: Checking, table: Table, given: Aggregate) -> Type:
        for name, value in (("select", self.find.select), ("withTotal", self.find.with_total)):
            if value:
                message = f"'{name}' does not go with 'aggregate'"
                at.report(self.key_place(name), "aggregate", message)
        texts = order_texts(self.find.order_by)
        check_group_order(at, given, texts, self.place("orderBy"))
        return check_aggregate(at, table, given, self.place("aggregate"))

    def check_row(self, at: Checking, table: Table, facts: Facts) -> Type:
        select = self.find.select
        if isinstance(select, Selected):
            scope = query_scope(at, table)
            query = Query(table, scope, lambda _: ast.Constant(None), bare=True)
            return check_select(at, select, scope, query, facts)
        check_columns(at, table, select or ())
        return table.row_type(select)

    # ---- code
    def code(self, flow: Flow) -> list[ast.stmt]:
        find, query = self.find, flow.query(self.find.table)
        names, row = self.columns(flow, query)
        if self.is_paged:
            return self.page(flow, query, names, row)
        order, group = self.order(flow, query), ""
        where = self.where(query)
        if find.aggregate is not None:
            texts = order_texts(find.order_by) or ()
            group, order = group_clauses(query, find.aggregate, texts)
        limit = query.parameter(self.count(flow, "limit", 1 if find.one else MAX_ROWS))
        template = seq(
            "SELECT ", names, f" FROM {query.alias} WHERE ", where,
            f"{group} ORDER BY ", order, " LIMIT ", query.dialect.limited(limit),
        )  # fmt: skip
        if find.offset is not None:
            template = seq(template, " OFFSET ", query.parameter(self.count(flow, "offset", 0)))
        code, read = self.read(flow, query, template)
        if find.one:
            return code + first_row(flow, self.as_, row, read, find.one)
        return code + self.keep(flow, _each(flow, row, read))

    def page(
        self, flow: Flow, query: Query, names: Template, row: ast.expr
    ) -> list[ast.stmt]:  # fmt: skip
        find = self.find
        page = begin_page(
            flow, query, self.as_, where=find.where, order=find.order_by, cursor=find.after,
            size=self.count(flow, "limit", MAX_ROWS),
        )  # fmt: skip
        template = seq(
            "SELECT ", names, ", ", page.columns, f" FROM {query.alias} WHERE ",
            ("and", self.where(query), page.behind), " ORDER BY ", page.order, " LIMIT ",
            query.dialect.limited(page.most),
        )  # fmt: skip
        code, read = self.read(flow, query, template)
        split, rows, after = page.split(flow, read)
        return [*page.begin, *code, *split, *self.keep(flow, _each(flow, row, rows), next=after)]

    def read(
        self, flow: Flow, query: Query, template: Template
    ) -> tuple[list[ast.stmt], ast.expr]:  # fmt: skip
        """Return the code before the rows are read, and the one that reads them."""
        code, sql, parameters = flow.statement(query, template)
        read = f"await host.database.read({sql}, {parameters})"
        return code, flow.expression(read, host=flow.root("host"))

    def where(self, query: Query) -> Template:
        where = self.find.where
        return (
            query.condition(where.node) if isinstance(where, Expression) else query.dialect.words[0]
        )

    def columns(self, flow: Flow, query: Query) -> tuple[Template, ast.expr]:
        """Return what is selected as SQL, and the code that makes a row of the tuple `r`."""
        select, table = self.find.select, query.table
        if self.find.aggregate is not None:
            parts, columns = aggregate_code(flow, query, table, self.find.aggregate)
            return commas(parts), flow.row(columns)
        if isinstance(select, Selected):
            made = SelectCode(flow, query)
            row = made.row(select)
            return commas(made.columns), row
        names, columns = returning(table, select or tuple(table.columns))
        return names, flow.row(columns)

    def keep(self, flow: Flow, rows: ast.expr, **beside: ast.expr) -> list[ast.stmt]:
        """Return the code that keeps the rows, and what is told beside them."""
        code: list[ast.stmt] = []
        if self.find.with_total:
            kept = flow.temporary()
            code = flow.run(f"{kept} = rows", rows=rows)
            counting, total = self.total(flow)
            code, rows, beside = code + counting, flow.expression(kept), {**beside, "total": total}
        if not beside:
            return flow.store(self.as_, rows)
        names: list[ast.expr | None] = [ast.Constant(name) for name in ("rows", *beside)]
        return code + flow.store(self.as_, ast.Dict(names, [rows, *beside.values()]))

    def total(self, flow: Flow) -> tuple[list[ast.stmt], ast.expr]:
        """Count in a statement of its own: beside the rows it would cost many times more."""
        query = flow.query(self.find.table)
        template = seq(f"SELECT count(*) FROM {query.alias} WHERE ", self.where(query))
        counting, read = self.read(flow, query, template)
        return counting, flow.expression("(read)[0][0]", read=read)

    def count(self, flow: Flow, name: str, default: int) -> ast.expr:
        value: Value | None = getattr(self.find, name)
        if value is None or (name == "limit" and self.find.one):
            return ast.Constant(default)
        if isinstance(value, Constant) and type(value.value) is int:
            return ast.Constant(value.value)
        node = value.node if isinstance(value, Expression) else None
        return flow.expression(
            "row_count(value, what, field)",
            row_count=flow.row_code("row_count"),
            value=flow.value(value),
            what=ast.Constant(name),
            field=ast.Constant(request_field(node) if node else ""),
        )

    def order(self, flow: Flow, query: Query) -> Template:
        order = self.find.order_by
        texts = () if self.find.aggregate is not None else order_texts(order)
        if texts is not None:
            return order_clause(query, fixed_order(texts))
        given = order_by(query, {}, None, paged=False)
        chosen = flow.constant("bbops.runtime.data.orders:OrderBy", *given)
        at = query.switch(flow.expression("order(value)", order=chosen, value=flow.value(order)))
        return ("raw", at, OrderBy(*given).order(()).clause)


def _each(flow: Flow, row: ast.expr, rows: ast.expr) -> ast.expr:
    """Return the code that makes a row of each tuple `r`."""
    rows = flow.expression("charged(rows)", charged=flow.row_code("charged"), rows=rows)
    return ast.ListComp(row, [ast.comprehension(ast.Name("r", ast.Store()), rows, [], 0)])
