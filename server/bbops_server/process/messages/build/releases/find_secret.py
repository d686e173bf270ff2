"""Look for secrets in a frontend."""

from __future__ import annotations

from bbops_server.process.messages.request import Answer, Request


class SecretSearch(Answer, frozen=True):
    """A file that holds one, and its name; None where none does."""

    found: tuple[str, str] | None


class FindSecret(Request[SecretSearch], frozen=True):
    """Look for secrets in a frontend."""

    state: str
    frontend: str
    """The manifest of its files."""

    values: dict[str, str]
    """The secrets by their names."""
