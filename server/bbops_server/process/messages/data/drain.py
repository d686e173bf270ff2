"""Answer once no release before the live one answers a request, or they are late."""

from __future__ import annotations

from bbops_server.process.messages.request import Done, Request


class Drain(Request[Done], frozen=True):
    """Answer once no release before the live one answers a request, or they are late."""

    project: str
