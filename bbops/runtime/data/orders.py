"""The order of rows: what SQL says of it, and which one a request may choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bbops.runtime.values.failures import BadValue

CUT: Final = 100
"""Characters of a text that a cursor holds; of a longer one the rest is read from its row again."""

Sortable = tuple[str, bool, str, str, str, str]
"""What rows may be ordered by: a `Key` without its name and direction."""


@dataclass(frozen=True, slots=True)
class Key:
    """One part of an order. Null comes last in both directions.

    Attributes:
        name: as it stands before `.desc`.
        again: reads a long text from its row once more, by the primary key and the text's
            beginning, which it also takes in place of a row that is gone; empty where values
            are short.
        mark: the parameter for a value that a cursor keeps.
        up, down: what stands behind the SQL in ORDER BY.
    """

    name: str
    sql: str
    nullable: bool
    again: str
    mark: str
    up: str
    down: str
    is_down: bool

    def __str__(self) -> str:
        return self.sql + (self.down if self.is_down else self.up)


@dataclass(frozen=True, slots=True)
class Order:
    """A whole order: its parts, and the SQL of them.

    Attributes:
        clause: what stands behind ORDER BY.
        columns: what is ordered by, to be selected.
    """

    keys: tuple[Key, ...]
    clause: str
    columns: str


class OrderBy:
    """`orderBy` of one step: makes its order, or the one that a request asks for."""

    __slots__ = ("chosen", "primary", "sortable")

    def __init__(self, sortable: Mapping[str, Sortable], primary: Sequence[str]) -> None:
        """Args: `sortable` by the name that stands before `.desc`; it holds all of `primary`."""
        self.sortable, self.primary = sortable, primary
        self.chosen: dict[str, Order] = {}

    def __call__(self, value: Any) -> str:
        """Return the ORDER BY clause of a request's value; raises as `choose`."""
        return self.choose(value).clause

    def choose(self, value: Any) -> Order:
        """Return the order that a request's `name.desc` asks for.

        Raises:
            FlowError: it is no name with `.asc` or `.desc` behind it.
        """
        found = self.chosen.get(value) if type(value) is str else None
        if found is None:
            name, _, direction = value.rpartition(".") if type(value) is str else ("", "", "")
            if name not in self.sortable or direction not in {"asc", "desc"}:
                raise BadValue("'orderBy' needs a column followed by '.asc' or '.desc'")
            found = self.chosen[value] = self.order([(name, direction == "desc")])
        return found

    def order(self, parts: Sequence[tuple[str, bool]]) -> Order:
        """Return the whole order of (name, is_down) parts.

        It ends with the primary key, in the direction of the last part, so that pages are stable.
        """
        used, is_down = {name for name, _ in parts}, bool(parts and parts[-1][1])
        whole = [*parts, *((name, is_down) for name in self.primary if name not in used)]
        keys = tuple(Key(name, *self.sortable[name], is_down) for name, is_down in whole)
        return Order(keys, ", ".join(map(str, keys)), ", ".join(key.sql for key in keys))
