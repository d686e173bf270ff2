"""The event log of a project."""

from __future__ import annotations

from bbops.base.json_events import LoggedEvent
from bbops_server.process.messages.request import Answer, Request


class Emitted(Answer, frozen=True):
    """The triggers of the event."""

    triggers: list[str]


class EmitEvent(Request[Emitted], frozen=True):
    """Emit an event, as the step `emit` does."""

    project: str
    event: str
    payload: str
    """JSON."""


class LoggedEvents(Answer, frozen=True):
    """Events, newest first."""

    events: list[LoggedEvent]


class ListEvents(Request[LoggedEvents], frozen=True):
    """List the events of a project."""

    project: str
    name: str = ""
    """A name to filter by."""

    most: int = 100


class Replayed(Answer, frozen=True):
    """The number of replayed events, or of events to replay."""

    count: int


class ReplayEvents(Request[Replayed], frozen=True):
    """Run a trigger again for logged events."""

    project: str
    trigger: str
    since: float
    """Unix time in seconds."""

    counts: bool = False
    """Count the events and run nothing."""
