"""Changes of single places of a text, and the keys and values at a place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from bbops.source.yaml.document import Document
from bbops.source.yaml.layout import content_end
from bbops.source.yaml.nodes import Map, Mark

Path = tuple[str | int, ...]


class Edit(NamedTuple):
    """Text to put in place of the characters from `start` to before `end`."""

    start: int
    end: int
    text: str


class CannotEdit(Exception):
    """The place cannot be changed alone; the message says why."""


def splice(source: str, edits: Iterable[Edit]) -> str:
    """Return the text with every edit made. They do not overlap."""
    for edit in sorted(set(edits), reverse=True):
        source = source[: edit.start] + edit.text + source[edit.end :]
    return source


def replace_scalar(mark: Mark, text: str) -> Edit:
    """Return the edit that puts another scalar in the place of one, or of a key."""
    return Edit(mark.start, mark.end, text)


def set_value(document: Document, path: Path, text: str) -> Edit:
    """Return the edit that gives a key its value; maps on the way that lack are made.

    Args:
        path: keys from the root on.
        text: the value as YAML on one line.

    Raises:
        CannotEdit: something on the way is no map, or comments would be lost.
    """
    node: Any = document.root
    for at, key in enumerate(path):
        if not isinstance(node, Map):
            where = ".".join(map(str, path[:at]))
            raise CannotEdit(f"'{where}' is not a map, so it has no '{key}'")
        if str(key) not in node:
            return _add(document, node, path[at:], text)
        if at < len(path) - 1 and node[str(key)] is not None:
            node = node[str(key)]
            continue
        if at < len(path) - 1:  # a key without a value
            text = "".join(f"{{ {name}: " for name in path[at + 1 :]) + text
            text += " }" * (len(path) - at - 1)
        return _replace(document, node, str(key), text)
    raise CannotEdit("expected a key")


def remove_key(document: Document, path: Path) -> Edit:
    """Return the edit that takes a key away, with its lines; comments above it stay.

    Raises:
        CannotEdit: there is no such key, or it cannot be told from what stands beside it.
    """
    node: Any = document.root
    for key in path[:-1]:
        node = node.get(str(key)) if isinstance(node, Map) else None
    name = str(path[-1])
    if not isinstance(node, Map) or name not in node:
        raise CannotEdit(f"there is no '{'.'.join(map(str, path))}'")
    if len(node) == 1:
        raise CannotEdit(f"'{name}' is the only entry; remove its parent instead")
    if document.source[node.mark.start] == "{":
        return _remove_in_brackets(document.source, node, name)
    source, key_at = document.source, node.keys_at[name]
    start = source.rfind("\n", 0, key_at.start) + 1
    if source[start : key_at.start].strip():
        raise CannotEdit(f"'{name}' shares its line with another entry")
    end = _line_end(source, content_end(source, node.values_at[name]))
    return Edit(start, min(end + 1, len(source)), "")


def _remove_in_brackets(source: str, node: Map, name: str) -> Edit:
    """Return the edit that takes an entry away with the comma behind it, or before the last one."""
    if "#" in source[node.mark.start : node.mark.end]:
        raise CannotEdit(f"'{name}' is inside brackets with comments; edit it by hand")
    names = list(node)
    at = names.index(name)
    if at < len(names) - 1:
        return Edit(node.keys_at[name].start, node.keys_at[names[at + 1]].start, "")
    before = content_end(source, node.values_at[names[at - 1]])
    return Edit(before, content_end(source, node.values_at[name]), "")


def _replace(document: Document, node: Map, key: str, text: str) -> Edit:
    source, key_at, old = document.source, node.keys_at[key], node.values_at[key]
    colon = source.index(":", key_at.end) + 1
    end = content_end(source, old)
    inside = source[old.start : end]
    if "\n" in inside and "#" in inside:
        raise CannotEdit(f"'{key}' may contain comments, which would be lost; edit it by hand")
    if old.start == old.end or "\n" in source[colon : old.start]:
        return Edit(colon, max(end, colon), f" {text}")
    return Edit(old.start, end, text)


def _add(document: Document, node: Map, path: Path, text: str) -> Edit:
    """Return the edit that adds a key behind the last one of a map."""
    source, (key, *others) = document.source, path
    value = "".join(f"{{ {name}: " for name in others) + text + " }" * len(others)
    if source[node.mark.start] == "{":
        inner = source[node.mark.start + 1 : node.mark.end - 1].strip()
        if "#" in inner or "\n" in inner:
            raise CannotEdit(
                f"'{key}' would be added to brackets that span several lines; edit it by hand"
            )
        listed = f"{inner}, {key}: {value}" if inner else f"{key}: {value}"
        return Edit(node.mark.start, node.mark.end, f"{{ {listed} }}")
    last = node.values_at[next(reversed(node))]
    at = _line_end(source, content_end(source, last))
    pad = " " * (node.mark.column - 1)
    return Edit(at, at, f"\n{pad}{key}: {value}")


def _line_end(source: str, at: int) -> int:
    found = source.find("\n", at)
    if found < 0:
        return len(source)
    return found - 1 if source[found - 1 : found] == "\r" else found


# ---- Find the key or value at a place of a file


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
