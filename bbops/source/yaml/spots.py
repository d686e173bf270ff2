"""Find the key or value at a place of a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bbops.source.yaml.document import Document
from bbops.source.yaml.edit import Path
from bbops.source.yaml.nodes import Map, Mark


@dataclass(frozen=True, slots=True)
class Spot:
    """A key or a value of a file; a key's path ends with itself."""

    path: Path
    is_key: bool
    mark: Mark
    value: Any


def spots(node: Any, path: Path = ()) -> Iterator[Spot]:
    """Yield every key and every value that is no map or list."""
    if isinstance(node, Map):
        for key, value in node.items():
            yield Spot((*path, key), True, node.keys_at[key], key)  # noqa: FBT003 - a spot's part
            yield from _value(value, (*path, key), node.values_at[key])
    elif isinstance(node, list):
        for at, (value, mark) in enumerate(zip(node, getattr(node, "items_at", ()), strict=False)):
            yield from _value(value, (*path, at), mark)


def _value(value: Any, path: Path, mark: Mark) -> Iterator[Spot]:
    if isinstance(value, dict | list):
        yield from spots(value, path)
    else:
        yield Spot(path, False, mark, value)  # noqa: FBT003 - a spot's part


def spot_at(document: Document, offset: int) -> Spot | None:
    """Return the key or value at an offset of a file."""
    found = [one for one in spots(document.root) if one.mark.start <= offset <= one.mark.end]
    return found[-1] if found else None
