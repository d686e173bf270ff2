"""A case of a project's tests begins to run."""

from __future__ import annotations

from bbops_server.process.messages.request import Event


class CaseStarted(Event, frozen=True):
    """A case of a project's tests begins to run."""

    file: str
    line: int
    column: int
