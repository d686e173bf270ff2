"""Values that a file means without saying them, each with the place of what it was made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bbops.source.yaml.nodes import Map, Mark, Seq, Text


class Joined(Mark):
    """The mark of a text that was put together: each part keeps the place it was read from."""

    parts: tuple[tuple[int, Mark], ...]

    def at(self, offset: int) -> tuple[Mark, int]:
        """Return the part that holds a character, and how far behind its begin that is."""
        begin, mark = next(one for one in reversed(self.parts) if one[0] <= max(offset, 0))
        return mark.at(offset - begin)


def text(at: Mark, *parts: str) -> Text:
    """Return parts as one text: those of a file keep their places, the others stand `at` one."""
    found, marks, size = "", list[tuple[int, Mark]](), 0
    for part in parts:
        mark = part.mark if isinstance(part, Text) else _begin(at)
        marks.append((size, mark))
        found += part
        size += len(part)
    made = Text(found)
    made.mark = Joined(*at)
    made.mark.parts = tuple(marks)
    return made


def _begin(at: Mark) -> Mark:
    """Return a mark whose every character is the first one."""
    return Mark(at.line, at.column, at.start, at.start, "")


def entries(at: Mark, given: Mapping[str, Any]) -> Map:
    """Return a map whose entries have the places of their values, else `at`."""
    made = Map()
    made.mark, made.keys_at, made.values_at = at, {}, {}
    for key, value in given.items():
        made[key] = value
        made.keys_at[key] = made.values_at[key] = _mark(value, at)
    return made


def chosen(given: Map, keys: Iterable[str]) -> Map:
    """Return the entries of a map that have some of the keys, where they stand."""
    made = Map()
    made.mark, made.keys_at, made.values_at = given.mark, {}, {}
    for key in keys:
        if key in given:
            made[key] = given[key]
            made.keys_at[key], made.values_at[key] = given.keys_at[key], given.values_at[key]
    return made


def joined(first: Map, *others: Map) -> Map:
    """Return the entries of maps as one map; of the same key the last one counts."""
    made = chosen(first, first)
    for one in others:
        made.update(one)
        made.keys_at |= one.keys_at
        made.values_at |= one.values_at
    return made


def items(at: Mark, given: Iterable[Any]) -> Seq:
    """Return a list whose items have their own places, else `at`."""
    made = Seq(given)
    made.mark, made.items_at = at, [_mark(one, at) for one in made]
    return made


def _mark(value: Any, at: Mark) -> Mark:
    return value.mark if isinstance(value, Text | Map | Seq) else at
