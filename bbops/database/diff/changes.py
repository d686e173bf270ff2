"""A change of the live tables as a value, with its losses and obstacles."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from bbops.base.render import counted_rows
from bbops.database.diff.preflight import Rows

Risk = Literal["safe", "depends", "destructive", "impossible"]
When = Literal["", "before", "at", "after", "hidden"]
"""Relative to the swap; `hidden` is hidden after it, and keeps its values."""

_ORDER: Final = {
    kind: place
    for place, kind in enumerate(
        ("rename table", "rename column", "create table", "add column", "create index")
    )
}
_SEVERITY: Final = {"impossible": 0, "destructive": 1, "depends": 2, "safe": 3}
_NONE: Final = Rows()
_SAID: Final = {
    "at": " at the swap",
    "after": " after the swap",
    "hidden": " hidden after the swap",
}


@dataclass(frozen=True, slots=True)
class Change:
    """One difference; `what` is a column or an index of the table, or empty for the table.

    As text it reads `drop column 'notes.done' (3 rows would lose their value: id 1, 2, 3)`; the
    time is missing for changes before the swap, or in one go.
    """

    kind: str
    table: str
    what: str
    risk: Risk = "safe"
    why: str = ""
    """The text after the number of `rows`, if there are any."""
    rows: Rows = _NONE
    cure: str = ""
    phase: When = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """The key of the change in a plan."""
        return self.kind, self.table, self.what

    def __str__(self) -> str:
        name = f"{self.table}.{self.what}" if self.what else self.table
        why = counted_rows(self.rows.count, self.why) if self.rows else self.why
        why = f"{why}: {self.rows.keys}" if self.rows.keys else why
        said = f"{self.kind} '{name}' ({why})" if why else f"{self.kind} '{name}'"
        return said + _SAID.get(self.phase, "")


def sort_changes(found: Iterable[Change]) -> tuple[Change, ...]:
    """Return the changes in the order of execution, each once, with its most severe reason."""
    unique: dict[tuple[str, str, str], Change] = {}
    for change in sorted(found, key=lambda change: _SEVERITY[change.risk]):
        unique.setdefault((change.kind, change.table, change.what), change)
    last = len(_ORDER)
    return tuple(
        sorted(unique.values(), key=lambda c: (_ORDER.get(c.kind, last), c.table, c.what, c.kind))
    )


def hash_changes(changes: Iterable[Change], base: str) -> str:
    """Return the name of a plan: 40 hex digits of its effects and of their `base`.

    Numbers of rows do not count, since they change while a plan is read; the effects on rows do, so
    a change that begins to lose something renames the plan. An author who can choose two plans
    could find two with the same 12 digits in minutes.
    """
    said = [[c.kind, c.table, c.what, c.risk, c.why] for c in changes]
    return hashlib.sha256(json.dumps([base, said]).encode()).hexdigest()[:40]
