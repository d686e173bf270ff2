"""The parameters of find, and the pages of `after`."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import ConfigDict, PlainValidator, model_validator

from bbops.base.model import Model
from bbops.language.expressions.narrow import outcomes
from bbops.language.expressions.values import Bare, BareField, Expression, Value, ValueField
from bbops.language.sql.dialect import Template
from bbops.language.sql.query import Query
from bbops.language.sql.sqlite import SQLITE
from bbops.language.steps._aggregate import Aggregate
from bbops.language.steps._base import Static
from bbops.language.steps._flow import Flow
from bbops.language.steps._order import fixed_order, order_by, order_texts
from bbops.language.steps._query import One
from bbops.language.steps._ruled import Reasons
from bbops.language.steps._shape import Columns, Selected, read_select
from bbops.language.steps._union import UnionPart, first_table
from bbops.runtime.data.pages import Pages


def _table_or_union(schema: dict[str, Any]) -> None:
    schema["required"] = [name for name in schema.get("required", ()) if name != "table"]
    schema["anyOf"] = [
        {"required": [key], "properties": {key: {}}} for key in ("table", "union")
    ]  # fmt: skip


class FindParameters(Model):
    """The rows, their columns, their order and their number."""

    model_config = ConfigDict(json_schema_extra=_table_or_union)

    table: Static
    union: list[UnionPart] | None = None
    where: BareField | None = None
    select: Annotated[Columns | Selected, PlainValidator(read_select)] | None = None
    order_by: ValueField | None = None
    limit: ValueField | None = None
    offset: ValueField | None = None
    after: ValueField | None = None
    aggregate: Aggregate | None = None
    distinct: bool = False
    one: One = False
    with_total: bool = False
    unscoped: Reasons = {}
    bypass_access: Reasons = {}

    @model_validator(mode="before")
    @classmethod
    def take_first_table(cls, data: Any) -> Any:
        """Take the table from the first part of `union`, which replaces `table`."""
        if isinstance(data, dict) and "table" not in data and data.get("union"):
            table = first_table(data["union"])
            return data if table is None else {**data, "table": table}
        return data


# ---- `after`: what a page adds to the statement of a list; see `bbops.runtime.data.pages`


@dataclass(frozen=True, slots=True)
class Paging:
    """One page.

    Attributes:
        begin: the code that makes it, before the statement.
        name: the Python name that it then has.
        columns: what its cursor is made of, to be selected last.
        behind: the condition that begins it.
    """

    begin: list[ast.stmt]
    name: str
    columns: Template
    behind: Template
    order: Template
    most: int

    def split(self, flow: Flow, read: ast.expr) -> tuple[list[ast.stmt], ast.expr, ast.expr]:
        """Return the code that parts what was read, its rows, and the cursor to the next page."""
        rows, after = flow.temporary(), flow.temporary()
        code = flow.run(f"{rows}, {after} = {self.name}.split(read)", read=read)
        return code, flow.expression(rows), flow.expression(after)


def begin_page(
    flow: Flow, query: Query, name: str | None, *, where: Bare | None, order: Value | None,
    cursor: Value | None, size: ast.expr,
) -> Paging:  # fmt: skip
    """Return the parts of a statement that gives one page.

    Args:
        name: the variable that holds the page; cursors of another one are foreign.
    """
    texts = order_texts(order)
    fixed = None if texts is None else fixed_order(texts)
    known = outcomes(where.node, query.scope)[0] if isinstance(where, Expression) else {}
    words = () if flow.dialect is SQLITE else (flow.dialect.words,)
    given = (f"{flow.home} {name}", *order_by(query, known, fixed, paged=True), fixed, *words)
    page, sample = flow.temporary(), Pages(*given).sample()
    begin = flow.run(
        f"{page} = pages(order, cursor, size, env)",
        pages=flow.constant("bbops.runtime.data.pages:Pages", *given),
        order=flow.value(order), cursor=flow.value(cursor), size=size, env=flow.root("env"),
    )  # fmt: skip

    def made(part: str) -> int:
        return query.switch(flow.expression(f"{page}.{part}"))

    parameters = query.parameter(flow.expression(f"{page}.parameters"))
    return Paging(
        begin, page,
        columns=("raw", made("columns"), sample.columns),
        behind=("raw", made("where"), sample.where, parameters),
        order=("raw", made("order"), sample.order),
        most=query.parameter(flow.expression(f"{page}.most")),
    )  # fmt: skip
