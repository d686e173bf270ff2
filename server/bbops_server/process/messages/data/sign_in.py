"""Sign in as a user of a draft."""

from __future__ import annotations

from typing import Any

from bbops_server.process.messages.request import Answer, Request


class SignedIn(Answer, frozen=True):
    """A token; empty where there is no such row."""

    token: str


class SignIn(Request[SignedIn], frozen=True):
    """Sign in as a user of a draft."""

    project: str
    """The draft."""

    table: str
    key: str
    """The column that a token names."""

    by: str
    """The column by which the row is found."""

    value: Any
    tells: list[str]
    """The columns that a token tells, of `email` and `role`."""
