"""Take note that the tables are those of a release."""

from __future__ import annotations

from bbops_server.process.messages.request import Done, Request


class Settle(Request[Done], frozen=True):
    """Take note that the tables are those of a release."""

    database: str
    """As `write_place` writes it."""

    state: str
    digest: str
