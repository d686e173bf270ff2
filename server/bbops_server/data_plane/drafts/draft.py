"""One draft of a data-process, and a request for it."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from bbops_server.process.messages.drafts import DraftPlace


class Draft:
    """One draft; it sleeps while it has neither a `socket` to ask nor a `refusal`."""

    def __init__(self, place: DraftPlace) -> None:
        self.place = place
        self.socket = ""
        self.refusal: bytes | None = None
        self.is_busy = False
        self.in_flight = self.sockets = 0
        self.told_at = 0.0
        self.is_ready = asyncio.Event()

    def be(self, socket: str, refusal: bytes | None, *, is_busy: bool) -> None:
        """Answer from there from now on, or with that."""
        self.socket, self.refusal, self.is_busy = socket, refusal, is_busy
        if socket or refusal is not None:
            self.is_ready.set()
        else:
            self.is_ready.clear()
            self.told_at = 0.0


class DraftRequest(NamedTuple):
    """A request for a draft: `prefix` leads to it, empty on a host of its own."""

    name: str
    draft: Draft
    prefix: str

    @property
    def is_own_host(self) -> bool:
        """Whether nothing live answers on this host."""
        return not self.prefix
