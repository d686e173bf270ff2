"""Bring the tables to where two releases can live with them."""

from __future__ import annotations

from bbops_server.process.messages.request import Answer, Request


class Expanded(Answer, frozen=True):
    """What has changed."""

    changes: list[str]


class Expand(Request[Expanded], frozen=True):
    """Bring the tables to where two releases can live with them."""

    database: str
    """As `write_place` writes it."""

    state: str
    digest: str
