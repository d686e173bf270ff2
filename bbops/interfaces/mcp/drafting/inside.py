"""Change one entry inside of a resource's body, and nothing beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bbops.base.diagnostics import suggest
from bbops.base.errors import BbopsError

Path = Sequence[str | int]


def put_in(root: Any, path: Path, value: Any) -> Any:
    """Return a body with a value at a path; maps on the way to it that lack are made.

    Raises:
        BbopsError: something on the way is no map, or no list of that length.
    """

    def put(around: Any, last: str | int) -> Any:
        if isinstance(around, list) and last == len(around):
            return [*around, value]
        if isinstance(around, list):
            at = _index(around, last, path)
            return [*around[:at], value, *around[at + 1 :]]
        return _map(around, path) | {str(last): value}

    return _changed(root, path, put, path)


def rename_in(root: Any, path: Path, to: str) -> Any:
    """Return a body with another name for a key, which stays where it is.

    Raises:
        BbopsError: there is no such key, or already one of that name.
    """

    def rename(around: Any, last: str | int) -> Any:
        was = _key(_map(around, path), last, path)
        if not to or (to in around and to != was):
            hint = "another key there has this name" if to else "give the new name in 'to'"
            raise BbopsError(f"the key at {_shown(path)} cannot be '{to[:100]}'", hint=hint)
        return {to if key == was else key: value for key, value in around.items()}

    return _changed(root, path, rename, path)


def delete_in(root: Any, path: Path) -> Any:
    """Return a body without an entry. Raises: BbopsError: there is none."""

    def delete(around: Any, last: str | int) -> Any:
        if isinstance(around, list):
            at = _index(around, last, path)
            return [*around[:at], *around[at + 1 :]]
        gone = _key(_map(around, path), last, path)
        return {key: value for key, value in around.items() if key != gone}

    return _changed(root, path, delete, path)


def _changed(node: Any, path: Path, change: Callable[[Any, str | int], Any], whole: Path) -> Any:
    """Return a copy in which the last entry of a path was changed; the rest is shared."""
    first, *rest = path
    if not rest:
        return change(node, first)
    if isinstance(node, list):
        at = _index(node, first, whole)
        return [*node[:at], _changed(node[at], rest, change, whole), *node[at + 1 :]]
    around = _map(node, whole)
    return around | {str(first): _changed(around.get(str(first)), rest, change, whole)}


def _map(node: Any, path: Path) -> dict[str, Any]:
    if node is not None and not isinstance(node, dict):
        found = "a list" if isinstance(node, list) else "a value"
        raise BbopsError(
            f"what holds the entry at {_shown(path)} is {found}, not a map",
            hint="a key selects in a map, an index in a list; a value has no entries",
        )
    return dict(node or {})


def _key(node: dict[str, Any], key: str | int, path: Path) -> str:
    if str(key) not in node:
        raise BbopsError(f"nothing exists at {_shown(path)}", hint=suggest(str(key), node))
    return str(key)


def _index(node: list[Any], at: str | int, path: Path) -> int:
    if not isinstance(at, int) or not 0 <= at < len(node):
        raise BbopsError(
            f"a list on the way to {_shown(path)} has {len(node)} entries, and none is {at!r:.100}",
            hint=f"an index is a number from 0; a put at {len(node)} adds an entry",
        )
    return at


def _shown(path: Path) -> str:
    return f"'{'.'.join(map(str, path))[:200]}'"
