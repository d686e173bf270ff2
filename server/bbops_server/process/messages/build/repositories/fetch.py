"""Bring a mirror up to date."""

from __future__ import annotations

from bbops_server.process.messages.request import Answer, Request


class Fetched(Answer, frozen=True):
    """What was found.

    Attributes:
        commit: the newest of the branch, None without one.
        newest: the newest frontend.
        trouble: with a frontend; empty without any.
    """

    commit: str | None
    newest: str
    trouble: str


class Fetch(Request[Fetched], frozen=True):
    """Bring a mirror up to date."""

    url: str
    mirror: str
    branch: str
    project: str | None
    """Its folder; None of a draft."""

    has_own_frontends: bool
    versions: tuple[str, ...]
    """The refs of its versions."""
