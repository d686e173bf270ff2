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
    context = {"names": names, "key": given[1] if given else "", "hint": f"write one of {names}"}
    message = "{names} is missing" if not given else "'{key}' cannot stand beside '" + given[0] + "'"
    raise PydanticCustomError("one_of", message, context)
