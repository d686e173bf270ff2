"""Narrow the tables to what a release declares."""

from __future__ import annotations

from bbops_server.process.messages.request import Answer, Request


class Narrowed(Answer, frozen=True):
    """The columns that stay, unseen."""

    hidden: list[str]


class Narrow(Request[Narrowed], frozen=True):
    """Narrow the tables to what a release declares."""

    database: str
    """As `write_place` writes it."""

    state: str
    digest: str
