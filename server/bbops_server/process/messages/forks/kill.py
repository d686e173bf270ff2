"""Kill a process that was forked, with all that it has started."""

from __future__ import annotations

from bbops_server.process.messages.request import Done, Request


class Kill(Request[Done], frozen=True):
    """Kill a process that was forked, with all that it has started."""

    pid: int
