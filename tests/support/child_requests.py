"""Requests to processes that tests start, and what answers them."""

from __future__ import annotations

from typing import Any

from bbops_server.process.messages.request import (
    AnswerMessage,
    DoneAnswer,
    EventMessage,
    RequestMessage,
)


class ChildAnswer(AnswerMessage, frozen=True):
    """The answer of a child, with its process id."""

    said: Any
    pid: int


class Echo(RequestMessage[ChildAnswer], frozen=True):
    """Say the same, after a while."""

    said: Any
    after: float = 0


class Surroundings(AnswerMessage, frozen=True):
    """What a process sees of where it runs."""

    nice: int
    key: str | None
    stdin: str


class Look(RequestMessage[Surroundings], frozen=True):
    """Say what you see."""


class RefuseThis(RequestMessage[DoneAnswer], frozen=True):
    """Raise an error that is meant."""


class Break(RequestMessage[DoneAnswer], frozen=True):
    """Raise an error that is not."""


class Mistake(RequestMessage[DoneAnswer], frozen=True):
    """Answer with something else."""


class Die(RequestMessage[DoneAnswer], frozen=True):
    """End at once."""


class Hang(RequestMessage[DoneAnswer], frozen=True):
    """Never answer."""


class Block(RequestMessage[DoneAnswer], frozen=True):
    """Let nothing else happen for a while."""

    seconds: float


class Grow(RequestMessage[DoneAnswer], frozen=True):
    """Take 64 MiB of memory."""


class Unknown(RequestMessage[DoneAnswer], frozen=True):
    """Nobody answers this."""


class Announce(RequestMessage[DoneAnswer], frozen=True):
    """Send an event before the answer."""

    text: str


class Announced(EventMessage, frozen=True):
    """Somebody asked for this event."""

    text: str
