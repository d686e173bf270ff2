"""Ask what a process is doing."""

from __future__ import annotations

from bbops_server.process.messages.request import Answer, Request


class ProcessStatus(Answer, frozen=True):
    """A data process, or the process of a draft.

    Attributes:
        pid: the process.
        in_flight: requests that are answered now.
        release: the name of what is live, where that is one.
    """

    pid: int
    in_flight: int
    release: str | None = None


class ReadStatus(Request[ProcessStatus], frozen=True):
    """Ask what a process is doing."""
