"""Fork the process of a draft."""

from __future__ import annotations

from bbops_server.process.messages.forks.fork import Forked
from bbops_server.process.messages.request import Request


class ForkDraft(Request[Forked], frozen=True):
    """Fork the process of a draft.

    Attributes:
        socket: where requests come in.
        folder: of the draft.
        egress: as of the data processes.
        concurrency: how many jobs run at a time.
        control: the socket where the parent waits for it.
    """

    socket: str
    folder: str
    egress: tuple[str, ...]
    concurrency: int = 50
    control: str = ""
