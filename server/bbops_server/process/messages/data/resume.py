"""Let requests go on that were held."""

from __future__ import annotations

from bbops_server.process.messages.request import Done, Request


class Resume(Request[Done], frozen=True):
    """Let requests go on that were held."""

    project: str
