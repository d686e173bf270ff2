"""delete: remove rows."""

from __future__ import annotations

import ast
from typing import ClassVar

from bbops.base.model import Model
from bbops.language.expressions.types import ANY, Type
from bbops.language.expressions.values import BareField
from bbops.language.sql.dialect import seq
from bbops.language.steps._base import Checking, Example, Static, Step
from bbops.language.steps._flow import Flow
from bbops.language.steps._query import COUNT, One, check_where, set_deleted, write_rows
from bbops.language.steps._ruled import Reasons
from bbops.runtime.values.identifiers import quote


class DeleteParameters(Model):
    """`where: true` means all rows; it is never left out."""

    table: Static
    where: BareField
    one: One = False
    unscoped: Reasons = {}
    bypass_access: Reasons = {}


class Delete(Step):
    """Give `{count}`; with `one` the row or null, and more than one match removes nothing.

    - `where` must be there; `where: true` means all rows.
    - A table with `softDelete` keeps the row, and sets that column; `unscoped` removes it.
    - Rows that refer to it decide by their `onDelete`: refuse with 409, go along, or become null.
    """

    title: ClassVar[str] = "Database Query: delete"
    writes: ClassVar[bool] = True
    fits_transaction: ClassVar[bool] = True
    keeps_rules: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Remove what is done",
            "- delete: { table: notes, where: done }\n"
            "  as: removed\n"
            "- return:\n    value: ${ vars.removed }",
            value={"count": 1},
        ),
    )

    delete: DeleteParameters

    def check(self, at: Checking) -> Type:
        table = at.table(self.delete.table, "delete")
        if table is None:
            return ANY
        check_where(at, table, self.delete.where, self.place("where"))
        if not self.delete.one:
            return COUNT
        return table.row_type() if self.delete.one == "required" else table.row_type().or_null()

    def code(self, flow: Flow) -> list[ast.stmt]:
        table = flow.tables[self.delete.table]
        query = flow.query(table.name, writes=True)
        sets = set_deleted(flow, query, table)
        head = seq(f"UPDATE {quote(table.name)} SET ", sets, " WHERE ") if sets else (
            f"DELETE FROM {quote(table.name)} WHERE "
        )  # fmt: skip
        return write_rows(
            flow, table, query, head, self.delete.where, one=self.delete.one, as_=self.as_,
            operation="delete",
        )  # fmt: skip
