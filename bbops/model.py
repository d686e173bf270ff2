"""What every model of a part of a YAML file has in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
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
    )
