"""Events of a project as JSON, in the same form for every process, page and program."""

from __future__ import annotations

import msgspec


class LoggedEvent(msgspec.Struct, frozen=True):
    """An event of the log: `at` in seconds since 1970, the payload as JSON, without secrets."""

    seq: int
    name: str
    at: float
    key: str
    payload: str
    cause: str = ""


class EmittedEvent(msgspec.Struct, frozen=True):
    """The triggers that wait for an event that was emitted."""

    triggers: list[str]


class ReplayedEvents(msgspec.Struct, frozen=True):
    """How many events run their trigger again, or would."""

    count: int
