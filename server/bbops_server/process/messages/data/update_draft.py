"""Say where the process of a draft is reached, or what is answered instead."""

from __future__ import annotations

from bbops_server.process.messages.request import Done, Request


class UpdateDraft(Request[Done], frozen=True):
    """Say where the process of a draft is reached, or what is answered instead."""

    project: str
    """The draft, as data processes know it."""

    socket: str = ""
    """Empty where it has no process."""

    refusal: bytes | None = None
    is_busy: bool = False
