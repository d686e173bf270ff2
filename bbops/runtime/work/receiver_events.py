"""The column `events` of a receiver's row: the names of the events that the receiver gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from bbops.runtime.values.values import kind

WANTED: Final = "'events' needs a list of names such as ['order.done'], or null for all events"


@dataclass(frozen=True, slots=True)
class ReceiverEvents:
    """The events of a receiver.

    Attributes:
        names: the names; None for all events.
        problem: why the column gives fewer names than it seems to; empty if it is valid.
    """

    names: frozenset[str] | None
    problem: str = ""

    def accept(self, event: str) -> bool:
        """Return whether the receiver gets an event."""
        return self.names is None or event in self.names


def read_events(value: Any) -> ReceiverEvents:
    """Return the events of a decoded value: a list of names, one name, or null for all."""
    if value is None:
        return ReceiverEvents(None)
    members = [value] if type(value) is str else value
    if type(members) is not list:
        return ReceiverEvents(frozenset(), f"{WANTED}; got {kind(value)}")
    names = frozenset(member for member in members if type(member) is str and member)
    wrong = [member for member in members if type(member) is not str or not member]
    if not wrong:
        return ReceiverEvents(names)
    found = "an empty name" if wrong[0] == "" else f"{kind(wrong[0])} among them"
    return ReceiverEvents(names, f"{WANTED}; got {found}")
