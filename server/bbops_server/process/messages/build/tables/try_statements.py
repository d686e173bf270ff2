"""Prepare every statement of a release against the tables."""

from __future__ import annotations

from bbops_server.process.messages.request import Answer, Request


class TriedStatements(Answer, frozen=True):
    """How many statements and routes were tried."""

    statements: int
    routes: int


class TryStatements(Request[TriedStatements], frozen=True):
    """Prepare every statement of a release against the tables."""

    database: str
    """As `write_place` writes it."""

    state: str
    artifact: str
