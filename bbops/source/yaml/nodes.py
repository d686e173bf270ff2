"""The values of a YAML file, each with the place it was read from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class Mark(NamedTuple):
    """Where a value stands. Line and column count from 1, `start` and `end` index the source.

    `style` is the quote of a scalar: `'`, `"`, `|`, `>`, or an empty text for a plain one and
    for maps and lists. The end of a block of lines is that of its last value.
    """

    line: int
    column: int
    start: int
    end: int
    style: str

    def at(self, offset: int) -> tuple[Mark, int]:
        """Return where a character of the value was read from: a mark, and how far behind it."""
        return self, offset


class Text(str):
    """A text with the place it was read from."""

    __slots__ = ("mark",)
    mark: Mark


class Map(dict[str, Any]):
    """A map; `keys_at` and `values_at` hold the places of its entries."""

    __slots__ = ("keys_at", "mark", "values_at")
    mark: Mark
    keys_at: dict[str, Mark]
    values_at: dict[str, Mark]


class Seq(list[Any]):
    """A list; `items_at` holds the places of its items."""

    __slots__ = ("items_at", "mark")
    mark: Mark
    items_at: list[Mark]


@dataclass(frozen=True, slots=True)
class Problem:
    """A finding in one file whose name is not known here."""

    line: int
    column: int
    code: str
    message: str
    hint: str = ""


class Unreadable(Exception):
    """The file cannot be read any further; carries the Problem that says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem
