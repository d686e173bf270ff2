"""List the events of a project."""

from __future__ import annotations

from bbops.base.json_events import LoggedEvent
from bbops_server.process.messages.request import Answer, Request


class LoggedEvents(Answer, frozen=True):
    """Events, the newest first."""

    events: list[LoggedEvent]


class ListEvents(Request[LoggedEvents], frozen=True):
    """List the events of a project."""

    project: str
    name: str = ""
    """Only those of this name."""

    most: int = 100
