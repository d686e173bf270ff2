"""The answer to each request that forks a process."""

from __future__ import annotations

from bbops_server.process.messages.request import Answer


class Forked(Answer, frozen=True):
    """The process that was forked."""

    pid: int
