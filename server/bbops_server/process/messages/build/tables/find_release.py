"""Ask which release the tables are for."""

from __future__ import annotations

from bbops_server.process.messages.request import Answer, Request


class TablesRelease(Answer, frozen=True):
    """Its digest; empty where nothing was released."""

    digest: str


class FindRelease(Request[TablesRelease], frozen=True):
    """Ask which release the tables are for."""

    database: str
    """As `write_place` writes it."""

    state: str
