"""Fork a process that runs tests."""

from __future__ import annotations

from bbops_server.process.messages.forks.fork import Forked
from bbops_server.process.messages.request import Request


class ForkTestRun(Request[Forked], frozen=True):
    """Fork a process that runs tests.

    Attributes:
        scratch: a folder for databases, which the parent removes.
        control: the socket where the parent waits for it.
    """

    scratch: str
    control: str = ""
