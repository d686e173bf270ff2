"""`select` as it is written: a list of columns, or which values stand under which names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic_core import PydanticCustomError

from bbops.language.expressions.values import Bare, read_bare
from bbops.source.yaml.document import Map, Mark


@dataclass(frozen=True, slots=True, eq=False)
class Selected:
    """Names with expressions, with what is selected under them, or with rows of a relation."""

    items: tuple[tuple[str, Bare | Selected | Many], ...]
    mark: Mark | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Many:
    """A list of what is selected of each row that a relation leads to; its name is the key's."""

    each: Selected
    mark: Mark | None = None


Columns = tuple[str, ...]


def read_select(data: Any) -> Columns | Selected:
    """Return a list of columns as their names, a map as the shape it describes."""
    if isinstance(data, dict) and data:
        return _read_shape(data)
    if not isinstance(data, list) or not data or not all(isinstance(name, str) for name in data):
        hint = f"write [{data}]" if isinstance(data, str) and data.isidentifier() else ""
        message = "'select' is a list of columns, or a map of names"
        raise PydanticCustomError("columns", message, {"hint": hint})
    if "*" in data:
        hint = "omit 'select' to get all columns"
        message = "'select' is a list of columns, without '*'"
        raise PydanticCustomError("columns", message, {"hint": hint})
    return tuple(data)


def _read_shape(data: dict[Any, Any]) -> Selected:
    keys_at = data.keys_at if isinstance(data, Map) else {}
    items = tuple(
        (str(name), _read(name, value, keys_at.get(name))) for name, value in data.items()
    )
    return Selected(items, data.mark if isinstance(data, Map) else None)


def _read(name: object, value: Any, mark: Mark | None) -> Bare | Selected | Many:
    if isinstance(value, dict) and value:
        return _read_shape(value)
    if not isinstance(value, list):
        return read_bare(value)
    if len(value) != 1 or not isinstance(value[0], dict) or not value[0]:
        hint = f"write '{name}: [ {{ id: id }} ]'"
        message = "'{name}': rows of a relation are a list of one map"
        raise PydanticCustomError("columns", message, {"name": str(name), "hint": hint})
    return Many(_read_shape(value[0]), mark)


def leaves(shape: Selected) -> Iterator[Bare | Many]:
    """Yield what is selected in a map and the maps inside it."""
    for _, value in shape.items:
        if isinstance(value, Selected):
            yield from leaves(value)
        else:
            yield value
