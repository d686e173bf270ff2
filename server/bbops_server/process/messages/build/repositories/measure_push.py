"""Ask how large the objects of a push are once they are unpacked."""

from __future__ import annotations

from bbops_server.process.messages.request import Answer, Request


class PushSize(Answer, frozen=True):
    """How many objects there are, and how many bytes the largest and all of them have."""

    count: int
    largest: int
    total: int


class MeasurePush(Request[PushSize], frozen=True):
    """Ask how large the objects of a push are once they are unpacked."""

    repository: str
    quarantine: str
