"""Run a delivery again that was received, or send one again that was sent."""

from __future__ import annotations

from bbops_server.process.messages.request import Answer, Request


class Repeated(Answer, frozen=True):
    """The job that does it; empty where there is no such delivery."""

    job: str


class RepeatDelivery(Request[Repeated], frozen=True):
    """Run a delivery again that was received, or send one again that was sent."""

    project: str
    delivery: str
