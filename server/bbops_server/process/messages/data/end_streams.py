"""Let answers of a draft that go on end after a time: the server stops."""

from __future__ import annotations

from bbops_server.process.messages.request import Done, Request


class EndStreams(Request[Done], frozen=True):
    """Let answers of a draft that go on end after a time: the server stops."""

    seconds: float
