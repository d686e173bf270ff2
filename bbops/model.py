"""What every model of a part of a YAML file has in common."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, PlainValidator
from pydantic.alias_generators import to_camel


class Model(BaseModel):
    """Frozen, strict about keys; `base_path` here is `basePath` in YAML."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        alias_generator=to_camel,
        arbitrary_types_allowed=True,
        hide_input_in_errors=True,
        defer_build=True,  # a kind or step that a project does not use costs nothing
    )


def plain(data: Any) -> Any:
    """Return YAML data as plain texts, lists and maps, without their places."""
    if isinstance(data, str):
        return str(data)
    if isinstance(data, list):
        return [plain(item) for item in data]
    if isinstance(data, dict):
        return {str(key): plain(item) for key, item in data.items()}
    return data


Plain = Annotated[Any, PlainValidator(plain)]
"""Any constant value."""
