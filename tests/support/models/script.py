"""The script of a stand-in for a model: its answers in their order, and faults before them.

An answer is chosen by the number of the model's messages in the request, so a repeated request
gets the same one. A fault belongs to the next answer of the script.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Say:
    """A text. `expect` is a part of the last results or texts of the request."""

    text: str
    expect: str = ""


@dataclass(frozen=True)
class Call:
    """A call of a tool, which need not exist."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    expect: str = ""

    @property
    def text(self) -> str:
        return json.dumps(self.arguments)


@dataclass(frozen=True)
class BadArguments:
    """A call whose arguments are this text, which is not a map.

    The protocol of Anthropic has no such calls in whole answers; the text is its `input` there.
    """

    tool: str
    text: str = '{"id": 7'
    expect: str = ""


Part = Say | Call | BadArguments


@dataclass(frozen=True)
class Together:
    """An answer of a text and calls, or of several calls."""

    parts: tuple[Part, ...]

    def __init__(self, *parts: Part) -> None:
        object.__setattr__(self, "parts", parts)


@dataclass(frozen=True)
class Cuts:
    """An answer that ends at the limit of tokens."""

    part: Part


@dataclass(frozen=True)
class Busy:
    """429 with `retry-after`, for this number of requests."""

    times: int = 1
    retry_after_seconds: int = 0


@dataclass(frozen=True)
class Broken:
    """An error of the server."""

    times: int = 1
    status: int = 500


@dataclass(frozen=True)
class CutOff:
    """A connection that ends in the middle of the answer."""

    times: int = 1


@dataclass(frozen=True)
class Slow:
    """A pause before each answer. Prefer `models.gate` where a test waits for something."""

    seconds: float


Fault = Busy | Broken | CutOff | Slow
Reply = Part | Together | Cuts | Fault
Script = Sequence[Reply]


@dataclass(frozen=True)
class ScriptedAnswer:
    """An answer with the faults before it."""

    parts: tuple[Part, ...]
    is_cut: bool
    faults: tuple[Fault, ...]

    @property
    def expects(self) -> list[str]:
        """Return the parts that the request must contain."""
        return [part.expect for part in self.parts if part.expect]


def read_script(script: Script) -> list[ScriptedAnswer]:
    """Return the answers of a script; faults at its end have no answer after them."""
    found: list[ScriptedAnswer] = []
    faults: tuple[Fault, ...] = ()
    for reply in script:
        if isinstance(reply, Fault):
            faults = (*faults, reply)
            continue
        if isinstance(reply, Together):
            parts: tuple[Part, ...] = reply.parts
        else:
            parts = (reply.part if isinstance(reply, Cuts) else reply,)
        found.append(ScriptedAnswer(parts, isinstance(reply, Cuts), faults))
        faults = ()
    return [*found, ScriptedAnswer((), is_cut=False, faults=faults)] if faults else found
