"""Requests to processes that tests start, and what answers them."""

from __future__ import annotations

from typing import Any

from bbops_server.process.messages.request import Answer, Done, Event, Request


class Said(Answer, frozen=True):
    """What was said, and by whom."""

    said: Any
    pid: int


class Echo(Request[Said], frozen=True):
    """Say the same, after a while."""

    said: Any
    after: float = 0


class Surroundings(Answer, frozen=True):
    """What a process sees of where it runs."""

    nice: int
    key: str | None
    stdin: str


class Look(Request[Surroundings], frozen=True):
    """Say what you see."""


class RefuseThis(Request[Done], frozen=True):
    """Raise an error that is meant."""


class Break(Request[Done], frozen=True):
    """Raise an error that is not."""


class Mistake(Request[Done], frozen=True):
    """Answer with something else."""


class Die(Request[Done], frozen=True):
    """End at once."""


class Hang(Request[Done], frozen=True):
    """Never answer."""


class Block(Request[Done], frozen=True):
    """Let nothing else happen for a while."""

    seconds: float


class Grow(Request[Done], frozen=True):
    """Take 64 MiB of memory."""


class Unknown(Request[Done], frozen=True):
    """Nobody answers this."""


class Announce(Request[Done], frozen=True):
    """Send an event before the answer."""

    text: str


class Announced(Event, frozen=True):
    """Somebody asked for this event."""

    text: str
