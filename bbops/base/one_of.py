"""Maps that hold exactly one of several keys."""

from __future__ import annotations

from typing import Any

from pydantic_core import PydanticCustomError

from bbops.base.model import Model


def need_one_of(model: type[Model], data: Any, *keys: str) -> Any:
    """Return the data of a map, or refuse one that has none or several of the keys."""
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
    """Return whether it has an unknown key: that is told, and may stand for one of these."""
    known = {field.alias or name for name, field in model.model_fields.items()}
    return any(key not in known for key in data)
