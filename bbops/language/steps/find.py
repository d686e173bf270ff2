"""find: read rows of a table."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import ClassVar

from pydantic import PrivateAttr

from bbops.language.expressions.known import Facts
from bbops.language.expressions.nodes import request_field
from bbops.language.expressions.types import ANY, INTEGER, TEXT, Type, list_of, map_of
from bbops.language.expressions.values import Constant, Expression, Value
from bbops.language.sql.dialect import Template, commas, seq
from bbops.language.sql.query import Query
from bbops.language.sql.types import SqlTable
from bbops.language.steps._aggregate import (
    Aggregate,
    Grouped,
    check_aggregate,
    check_group_order,
    check_groups,
    group_code,
)
from bbops.language.steps._base import Checking, Example, Step
from bbops.language.steps._find import FindParameters, begin_page
from bbops.language.steps._flow import Flow
from bbops.language.steps._order import check_order, order_by, order_clause, order_texts
from bbops.language.steps._query import check_columns, check_where, first_row, query_scope
from bbops.language.steps._select import SelectCode, check_select, opened
from bbops.language.steps._shape import Groups, Selected, selected_groups
from bbops.language.steps._union import UnionPart, check_union, union_code
from bbops.language.steps._written import returning
from bbops.runtime.data.pages import OrderBy

MAX_ROWS = 1000
"""Rows of a list without `limit`."""


class Find(Step):
    """Give a list of rows; with `one` the first row or null, with `one: required` or 404.

    - Bare names in `where` are columns. Parts without columns are decided before SQL, so an
      optional filter is `query.author == null or author_id == query.author`.
    - Without `limit` a list has at most 1,000 rows. `orderBy` (`created_at.desc`,
      `author.name.asc`, or a list of such) ends with the primary key in the direction of the last
      one, so pages are stable; null sorts last in both directions. It may also name what `select`
      computes (`comments.desc`); `row.x` is the column where both have that name. In
      `orderBy: ${ query.sort }` the shape has an `enum` of such orders: of columns of the table,
      and of the rows that its relations lead to, but for private ones.
    - `after: ${ query.cursor }` gives a page as `{rows, next}` (pagination): `next` is the cursor
      to the page behind it, null at the end, and a cursor of null is the first page. It holds the
      last row's values of what orders the rows, signed for this step and order; any other is 400
      `invalidCursor`. So a page costs the same wherever it is, and rows that come or go move no
      other. The key is made once by the server, or is `BBOPS_CURSOR_KEY` of its environment, which
      several servers share.
    - A foreign key `author_id` makes the relation `author`: `author.name`, `parent.author.id`, null
      where there is no row. `exists(comments, body == 'a')`, `count(team.members)`,
      `sum(lines, price, not free)` and `list(tags, tag.name)` ask for the rows that refer to this
      one, by the child table's name or its `reverse`. `sum`, `avg`, `min` and `max` leave nulls
      out; of nothing `sum` is 0, the others null. `first` and `last` give the value of the first or
      last row in the order of the primary key, null without one;
      `list` is in that order, and stands for itself in `select`, or behind `in`.
      Inside, a name is first the related table's, then the outer one's, and `row.x` is the outer
      row's.
    - `select` is a list of columns, or a map of names to expressions, with maps inside; a map whose
      values all come through one optional relation is null where there is no row. A list of one map
      gives the rows of the relation that its name is: `comments: [ { body: body } ]`, in the
      order of the primary key, at most 1,000, and lists in them up to four deep; it is all one
      statement. `latest: { find: { relation: comments, where: not hidden, orderBy: created_at.desc,
      limit: 3, select: [id, body] } }` lists some of them; `one: true` gives the first or null.
    - `rank(points.desc, team_id)` and `rowNumber(made_at)` in `select` give the place of a row,
      from 1 on, among all that `where` finds, or among those with the same second value. Null is
      last; `rank` is the same for ties. `orderBy` takes their names.
    - `union: [{ table, where, select }, …]` in the place of `table` gives the rows of several
      tables as one list: each part selects the same names, of the same types, and `orderBy` takes
      them.
    - `withTotal: true` gives `{rows, total}`.
    - `aggregate` gives a row for each group. `groupBy` is a list of columns, or a map of names to
      expressions, which may follow relations: `{ author: author.name }`. `values` are `count()`,
      `countDistinct(x)`, `sum(x)` (0 of nothing), `avg(x)`, `min(x)` and `max(x)`, which leave
      nulls out. A condition behind the value says which rows count: `sum(total, not cancelled)`,
      `count(status == 'open')`. Sums of decimals lose nothing; their average has six places.
      `having` is a condition over the names; `orderBy` takes them, and `withTotal` counts the
      groups. Without `groupBy` there is always one group.
    - `distinct: true` gives each row that `select` makes once, ordered by what is selected.
    """

    title: ClassVar[str] = "Database Query: find"
    keeps_rules: ClassVar[bool] = True
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
            "Groups of notes",
            "- find:\n"
            "    table: notes\n"
            "    aggregate:\n"
            "      groupBy:\n"
            "        letters: title | length\n"
            "      values:\n"
            "        notes: count()\n"
            "        done: count(done)\n"
            "      having: notes > 1\n"
            "  as: groups\n"
            "- return:\n    value: ${ vars.groups }",
            value=[{"letters": 3, "notes": 2, "done": 1}],
        ),
        Example(
            "One, or 404",
            "- find: { table: notes, where: id == 99, one: required }\n",
            status=404,
            value={"error": {"code": "notFound", "message": "not found"}},
        ),
    )

    find: FindParameters
    _distinct: Groups | None = PrivateAttr(default=None)

    def check(self, at: Checking) -> Type:
        find = self.find
        if find.union is not None:
            return self.result(at, self.check_parts(at, find.union))
        table = at.table(find.table)
        if table is None:
            return ANY
        facts: Facts = {}
        if find.where is not None:
            facts = check_where(at, table, find.where, self.place("where"))
        if find.aggregate is not None:
            row = self.check_groups(at, table, find.aggregate, facts)
        elif find.distinct:
            row = self.check_distinct(at, table, facts)
        else:
            row = self.check_row(at, table, facts)
            check_order(
                at, table, find.order_by, self.place("orderBy"), paged=self.is_paged,
                selected=find.select, row=row,
            )  # fmt: skip
        self.check_page(at)
        return self.result(at, row)

    def check_parts(self, at: Checking, parts: list[UnionPart]) -> Type:
        for name in ("table", "where", "select", "aggregate", "distinct", "after"):
            if (place := self.key_place(name)) is not None:
                at.report(place, "union-shape", f"'{name}' does not go with 'union'")
        row, place = check_union(at, parts, self.key_place("union")), self.place("orderBy")
        names = list(row.fields or ())
        check_group_order(at, names, order_texts(self.find.order_by), place, of="union")
        return row

    def result(self, at: Checking, row: Type) -> Type:
        find = self.find
        for name in ("limit", "offset"):
            at.need(getattr(find, name), "number", f"'{name}'", self.place(name))
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
        """Whether it returns pages: also with `after: null`, which is the first one."""
        return "after" in self.find.model_fields_set

    @property
    def is_one_group(self) -> bool:
        """Whether there is always one group: without `groupBy` even no rows make one."""
        aggregate = self.find.aggregate
        if aggregate is None or aggregate.group_by.items or aggregate.having is not None:
            return False
        return self.find.offset is None

    def check_page(self, at: Checking) -> None:
        at.need(self.find.after, "text", "'after'", self.place("after"), null=True)
        for name in ("one", "offset", "aggregate", "distinct") if self.is_paged else ():
            if getattr(self.find, name):
                message = f"'{name}' does not go with 'after', which gives pages of rows"
                at.report(self.key_place(name), "paging", message)

    def check_groups(self, at: Checking, table: SqlTable, given: Aggregate, facts: Facts) -> Type:
        for name, value in (("select", self.find.select), ("distinct", self.find.distinct)):
            if value:
                message = f"'{name}' does not go with 'aggregate'"
                at.report(self.key_place(name), "aggregate", message)
        names = [*(name for name, _ in given.group_by.items), *given.values]
        texts = order_texts(self.find.order_by)
        check_group_order(at, names, texts, self.place("orderBy"))
        return check_aggregate(at, table, given, facts, self.place("aggregate"))

    def check_distinct(self, at: Checking, table: SqlTable, facts: Facts) -> Type:
        groups = self._distinct = selected_groups(self.find.select)
        if groups is None:
            message = "with 'distinct', 'select' is a list of columns, or names with expressions"
            hint = "write 'select: [status]'" if self.find.select is None else "select no maps"
            at.report(self.key_place("distinct"), "distinct-order", message, hint)
            return ANY
        texts, place = order_texts(self.find.order_by), self.place("orderBy")
        names = [name for name, _ in groups.items]
        check_group_order(at, names, texts, place, of="distinct")
        return map_of(check_groups(at, table, groups, facts, "'select'"), "the row")

    def check_row(self, at: Checking, table: SqlTable, facts: Facts) -> Type:
        select = self.find.select
        if isinstance(select, Selected):
            scope = query_scope(at, table)
            scope.windows = not self.is_paged
            query = Query(table, scope, lambda _: ast.Constant(None), bare=True)
            return check_select(at, select, scope, query, facts)
        check_columns(at, table, select or ())
        return table.row_type(select)

    # ---- code
    def code(self, flow: Flow) -> list[ast.stmt]:
        find, query = self.find, flow.query(self.find.table)
        grouped = self.groups(flow, query)
        query = query if grouped is None else grouped.query
        if grouped is not None:
            rows, row = grouped.sql, flow.row(grouped.columns)
            order: Template = grouped.order(order_texts(find.order_by) or ())
        else:
            names, row, places = self.columns(flow, query)
            if self.is_paged:
                return self.page(flow, query, names, row)
            order = self.order(flow, query, places)
            rows = seq("SELECT ", names, f" FROM {query.rows} WHERE ", self.where(query))
        limit = query.parameter(self.count(flow, "limit", 1 if find.one else MAX_ROWS))
        template = seq(rows, " ORDER BY ", order, " LIMIT ", query.dialect.limited(limit))
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
            "SELECT ", names, ", ", page.columns, f" FROM {query.rows} WHERE ",
            ("and", self.where(query), page.behind), " ORDER BY ", page.order, " LIMIT ",
            query.dialect.limited(page.most),
        )  # fmt: skip
        code, read = self.read(flow, query, template)
        split, rows, after = page.split(flow, read)
        return [*page.begin, *code, *split, *self.keep(flow, _each(flow, row, rows), next=after)]

    def groups(self, flow: Flow, query: Query) -> Grouped | None:
        """Return the statement of `aggregate`, `distinct` or `union`; None for other lists."""
        find = self.find
        if find.union is not None:
            return union_code(flow, find.union)
        if find.aggregate is not None:
            return group_code(query, find.aggregate.group_by, find.aggregate, self.where(query))
        if not find.distinct or self._distinct is None:
            return None
        return group_code(query, self._distinct, None, self.where(query))

    def read(
        self, flow: Flow, query: Query, template: Template
    ) -> tuple[list[ast.stmt], ast.expr]:  # fmt: skip
        """Return the code before the rows are read, and the expression that reads them."""
        code, sql, parameters = flow.statement(query, template)
        read = f"await host.database.read({sql}, {parameters})"
        return code, flow.expression(read, host=flow.root("host"))

    def where(self, query: Query) -> Template:
        where = self.find.where
        return (
            query.condition(where.node) if isinstance(where, Expression) else query.dialect.words[0]
        )

    def columns(
        self, flow: Flow, query: Query
    ) -> tuple[Template, ast.expr, Mapping[str, str]]:  # fmt: skip
        """Return the selected columns as SQL, and the code that makes a row of the tuple `r`.

        The third part has the SQL of computed names, for ORDER BY.
        """
        select, table = self.find.select, query.table
        if isinstance(select, Selected):
            made = SelectCode(flow, query)
            row, places = made.whole(opened(select, table))
            return commas(made.columns), row, places
        names, columns = returning(table, select or tuple(table.columns))
        return names, flow.row(columns), {}

    def keep(self, flow: Flow, rows: ast.expr, **beside: ast.expr) -> list[ast.stmt]:
        """Return the code that keeps the rows, and the values beside them."""
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
        grouped = self.groups(flow, query)
        query = query if grouped is None else grouped.query
        if grouped is not None:
            template = grouped.total()
        else:
            template = seq(f"SELECT count(*) FROM {query.rows} WHERE ", self.where(query))
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

    def order(self, flow: Flow, query: Query, places: Mapping[str, str]) -> Template:
        order = self.find.order_by
        texts = order_texts(order)
        if texts is not None:
            return order_clause(query, texts, places)
        given = order_by(query, {}, None, paged=False)
        chosen = flow.constant("bbops.runtime.data.pages:OrderBy", *given)
        at = query.switch(flow.expression("order(value)", order=chosen, value=flow.value(order)))
        return ("raw", at, OrderBy(*given).order(()).clause)


def _each(flow: Flow, row: ast.expr, rows: ast.expr) -> ast.expr:
    """Return the code that makes a row of each tuple `r`."""
    rows = flow.expression("charged(rows)", charged=flow.row_code("charged"), rows=rows)
    return ast.ListComp(row, [ast.comprehension(ast.Name("r", ast.Store()), rows, [], 0)])
