"""The base class of models of YAML, and maps that hold exactly one of several keys."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import NoneType
from typing import Annotated, Any, ClassVar, get_args

from pydantic import BaseModel, ConfigDict, PlainValidator, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from bbops.base.registry import is_there


@dataclass(frozen=True, slots=True)
class RunBy:
    """Marks a key that only does something once a module exists, as `run_by` marks a model."""

    module: str


class Model(BaseModel):
    """Frozen, strict about keys; `base_path` here is `basePath` in YAML.

    Attributes:
        run_by: the module that carries out what it says, where that is not the code beside it.
            While a version does not have the module, `bbops.compiler.check` says so where it is
            written, and every page and list marks it.
        sees_all_rows: it names a `table`, and is about all of its rows, whatever its rules say.
    """

    run_by: ClassVar[str] = ""
    sees_all_rows: ClassVar[bool] = False

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        alias_generator=to_camel,
        arbitrary_types_allowed=True,
        hide_input_in_errors=True,
        defer_build=True,  # a kind or step that a project does not use costs nothing
    )

    @model_validator(mode="before")
    @classmethod
    def refuse_empty(cls, data: Any) -> Any:
        """Refuse a key with nothing behind it: it would silently be the same as no key."""
        if isinstance(data, dict) and None in data.values():
            for key, value in data.items():
                if value is None and key in _never_empty(cls):
                    raise PydanticCustomError("empty", "'{key}' has no value", {"key": key})
        return data

    @classmethod
    def is_supported(cls) -> bool:
        """Return whether this version runs it."""
        return not cls.run_by or is_there(cls.run_by)

    @classmethod
    def unsupported_keys(cls) -> frozenset[str]:
        """Return the keys that this version checks, but does not run."""
        return _unsupported_keys(cls)


@cache
def _unsupported_keys(model: type[Model]) -> frozenset[str]:
    return frozenset(
        field.alias or name
        for name, field in model.model_fields.items()
        for mark in field.metadata
        if isinstance(mark, RunBy) and not is_there(mark.module)
    )


NULL_IS_A_VALUE = "null is a value"
"""Marks the type of a field that can be null."""


@cache
def _never_empty(model: type[Model]) -> frozenset[str]:
    """Return the keys that may be missing, but not empty."""
    fields = model.model_fields.items()
    return frozenset(
        field.alias or name
        for name, field in fields
        if NoneType in get_args(field.annotation)
        and NULL_IS_A_VALUE not in [*field.metadata, *_rules(field.annotation)]
    )


def _rules(annotation: Any) -> list[Any]:
    """Return the texts of `Annotated` in all parts of a type."""
    own = [rule for rule in getattr(annotation, "__metadata__", ()) if isinstance(rule, str)]
    return [*own, *(rule for part in get_args(annotation) for rule in _rules(part))]


def plain(data: Any) -> Any:
    """Return YAML data as plain texts, lists and maps, without their places."""
    if isinstance(data, str):
        return str(data)
    if isinstance(data, list):
        return [plain(item) for item in data]
    if isinstance(data, dict):
        return {str(key): plain(item) for key, item in data.items()}
    return data


Plain = Annotated[Any, PlainValidator(plain), NULL_IS_A_VALUE]
"""Any constant value."""


# ---- Maps that hold exactly one of several keys


def need_one_of(model: type[Model], data: Any, *keys: str) -> Any:
    """Return the data of a map; refuse a map with none or several of the keys."""
    if not isinstance(data, dict):
        return data
    given = [key for key in data if key in keys]
    if len(given) == 1 or (not given and _has_unknown(model, data)):
        return data
    *others, last = (f"'{key}'" for key in keys)
    names = f"{', '.join(others)} or {last}" if others else last
    if not given:
        raise PydanticCustomError("one_of", "{names} is missing", {"names": names, "key": ""})
    context = {"names": names, "first": given[0], "key": given[1]}
    raise PydanticCustomError("one_of", "'{key}' cannot be combined with '{first}'", context)


def _has_unknown(model: type[Model], data: dict[str, Any]) -> bool:
    """Return whether it has an unknown key: it is reported, and may be a typo of one of these."""
    known = {field.alias or name for name, field in model.model_fields.items()}
    return any(key not in known for key in data)
