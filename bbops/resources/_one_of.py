"""Maps that hold exactly one of several keys."""

from __future__ import annotations

from typing import Any

from pydantic_core import PydanticCustomError


def need_one_of(data: Any, *keys: str) -> Any:
    """Return the data of a map, or refuse one that has none or several of the keys."""
    if not isinstance(data, dict):
        return data
    given = [key for key in data if key in keys]
    if len(given) == 1:
        return data
    names = ", ".join(f"'{key}'" for key in keys[:-1]) + f" or '{keys[-1]}'"
    if not given:
        raise PydanticCustomError("one_of", "{names} is missing", {"names": names, "key": ""})
    context = {"names": names, "first": given[0], "key": given[1]}
    raise PydanticCustomError("one_of", "'{key}' cannot stand beside '{first}'", context)
