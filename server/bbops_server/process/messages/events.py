"""Requests about a project's events: emit, list, replay."""

from __future__ import annotations

from bbops.base.json_work import LoggedEvent
from bbops_server.process.messages.request import AnswerMessage, RequestMessage


class EmitEventAnswer(AnswerMessage, frozen=True):
    """The triggers that the event starts."""

    triggers: list[str]


class EmitEvent(RequestMessage[EmitEventAnswer], frozen=True):
    """Emit an event, as the step `emit` does."""

    project: str
    event: str
    payload: str
    """JSON."""


class ListEventsAnswer(AnswerMessage, frozen=True):
    """Events, newest first."""

    events: list[LoggedEvent]


class ListEvents(RequestMessage[ListEventsAnswer], frozen=True):
    """List the events of a project."""

    project: str
    name: str = ""
    """A name to filter by."""

    most: int = 100


class ReplayEventsAnswer(AnswerMessage, frozen=True):
    """The number of replayed events, or of events to replay."""

    count: int


class ReplayEvents(RequestMessage[ReplayEventsAnswer], frozen=True):
    """Run a trigger again for logged events."""

    project: str
    trigger: str
    since: float
    """Unix time in seconds."""

    counts: bool = False
    """Count the events and run nothing."""
