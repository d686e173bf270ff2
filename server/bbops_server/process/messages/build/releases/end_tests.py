"""End the tests of a project."""

from __future__ import annotations

from bbops_server.process.messages.request import Done, Request


class EndTests(Request[Done], frozen=True):
    """End the tests of a project."""

    state: str
