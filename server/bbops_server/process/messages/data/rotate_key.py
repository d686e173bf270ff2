"""Make an API key in the place of another."""

from __future__ import annotations

from bbops_server.process.messages.data.issue_key import Issued
from bbops_server.process.messages.request import Request


class RotateKey(Request[Issued], frozen=True):
    """Make an API key in the place of another."""

    project: str
    key: str
    """The id of the other."""

    overlap: str
    """How long both are valid."""
