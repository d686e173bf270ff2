"""The parameters of find."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, PlainValidator, model_validator

from bbops.base.model import Model
from bbops.language.expressions.values import BareField, ValueField
from bbops.language.steps._aggregate import Aggregate
from bbops.language.steps._base import Static
from bbops.language.steps._query import One
from bbops.language.steps._ruled import Reasons
from bbops.language.steps._shape import Columns, Selected, read_select
from bbops.language.steps._union import UnionPart, first_table


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
