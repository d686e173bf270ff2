"""Run a trigger again for events that are in the log."""

from __future__ import annotations

from bbops_server.process.messages.request import Answer, Request


class Replayed(Answer, frozen=True):
    """How many events run the trigger again, or would."""

    count: int


class ReplayEvents(Request[Replayed], frozen=True):
    """Run a trigger again for events that are in the log."""

    project: str
    trigger: str
    since: float
    """In seconds since 1970."""

    counts: bool = False
    """Run nothing, and say how many there are."""
