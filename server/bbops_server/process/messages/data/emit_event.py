"""Emit an event, as a step 'emit' does."""

from __future__ import annotations

from bbops_server.process.messages.request import Answer, Request


class Emitted(Answer, frozen=True):
    """The triggers that wait for the event."""

    triggers: list[str]


class EmitEvent(Request[Emitted], frozen=True):
    """Emit an event, as a step 'emit' does."""

    project: str
    event: str
    payload: str
    """JSON."""
