"""update: change rows; `row.<column>` is the stored value, computed in the database."""

from __future__ import annotations

import ast
from typing import ClassVar

from bbops.base.model import Model
from bbops.language.expressions.types import ANY, Type
from bbops.language.expressions.values import BareField, MapValue, ValueField
from bbops.language.sql.dialect import Template, seq
from bbops.language.sql.query import Query
from bbops.language.sql.types import SqlTable
from bbops.language.steps._base import Checking, Example, Static, Step
from bbops.language.steps._flow import Flow
from bbops.language.steps._query import (  # fmt: skip
    COUNT,
    One,
    assignments,
    check_data,
    check_where,
    write_rows,
)
from bbops.language.steps._ruled import Reasons
from bbops.language.steps._written import check_written, is_looked_at
from bbops.runtime.values.identifiers import quote


class UpdateParameters(Model):
    """`where: true` means all rows; it is never left out."""

    table: Static
    where: BareField
    data: ValueField
    one: One = False
    unscoped: Reasons = {}
    bypass_access: Reasons = {}


class Update(Step):
    """Give `{count}`; with `one` the row or null, and more than one match changes nothing.

    - `where` must be there; `where: true` means all rows.
    - In `data`, `row.<column>` is the stored value, computed in the database:
      `stock: ${ row.stock - 1 }`. It may follow relations: `price: ${ row.service.price }`.
    - `data` may be one `${ }`: `${ input | pick('title', 'body') }` changes only what was sent.
    """

    title: ClassVar[str] = "Database Query: update"
    writes: ClassVar[bool] = True
    fits_transaction: ClassVar[bool] = True
    keeps_rules: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Tick one off",
            "- update:\n"
            "    table: notes\n"
            "    where: id == 1\n"
            "    data:\n"
            "      done: true\n"
            "      title: ${ row.title + ' (done)' }\n"
            "    one: true\n"
            "  as: note\n"
            "- return:\n    value: ${ vars.note }",
            value={"id": 1, "title": "one (done)", "done": True},
        ),
        Example(
            "Change only what was sent",
            "- update:\n"
            "    table: notes\n"
            "    where: true\n"
            "    data: ${ input | pick('title', 'done') }\n"
            "  as: changed\n"
            "- return:\n    value: ${ vars.changed.count }",
            input={"title": "x", "done": True},
            value=3,
        ),
    )

    update: UpdateParameters

    def check(self, at: Checking) -> Type:
        table = at.table(self.update.table, "update")
        if table is None:
            return ANY
        facts = check_where(at, table, self.update.where, self.place("where"))
        place = self.place("data")
        check_written(at, table, self.update.data, "update")
        check_data(at, table, self.update.data, row=True, place=place, facts=facts)
        if not self.update.one:
            return COUNT
        return table.row_type() if self.update.one == "required" else table.row_type().or_null()

    def code(self, flow: Flow) -> list[ast.stmt]:
        table, data = flow.tables[self.update.table], self.update.data
        query = flow.query(table.name, writes=True)
        if isinstance(data, MapValue):
            sets = assignments(flow, query.rows_only(), table, data)
        else:
            sets = self.dynamic(flow, table, query)
        head = seq(f"UPDATE {quote(table.name)} SET ", sets, " WHERE ")
        return write_rows(
            flow, table, query, head, self.update.where, one=self.update.one, as_=self.as_,
            operation="update", looks=is_looked_at(table, data, "update"),
        )  # fmt: skip

    def dynamic(self, flow: Flow, table: SqlTable, query: Query) -> Template:
        """Return the assignments of `data: ${ … }`; a switch selects their columns at run time."""
        columns = {name: column.type for name, column in table.stored.columns.items()}
        automatic = {n: flow.now() for n, c in table.columns.items() if c.auto == "updated"}
        setter = flow.constant(f"{flow.dialect.writes}:Setter", table.name, columns, table.longest)
        chosen = flow.temporary()
        code = flow.expression(
            f"({chosen} := setter(data, automatic)).sql",
            setter=setter,
            data=flow.value(self.update.data),
            automatic=ast.Dict([ast.Constant(n) for n in automatic], list(automatic.values())),
        )
        values = query.parameter(flow.expression(f"{chosen}.values"))
        first = next(iter(table.columns))
        return ("raw", query.switch(code), f"{quote(first)} = {quote(first)}", values)
