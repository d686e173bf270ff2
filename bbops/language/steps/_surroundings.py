"""What a step may know of what it names: called functions, topics, webhooks that are sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bbops.language.expressions.types import Type

Arguments = frozenset[tuple[str, str]]
"""Names of a function's parameters: ("input", "email")."""

Hidden = frozenset[tuple[str, str, bool]]
"""The same of those that are given something private, and whether a secret of env is in it."""


@dataclass(frozen=True, slots=True)
class Leak:
    """A step of a called function that does what may not be done with what it is given."""

    code: str
    place: str


@dataclass(frozen=True, slots=True)
class Signature:
    """What `call` has to know of a function.

    Attributes:
        arguments: for input, params and query a map of what it takes; a field that may be left
            out is `absent`.
        required: those that a call must give.
        call: takes the arguments that are private; returns the type of the result, and what the
            function would do wrong with them.
    """

    arguments: Mapping[str, Type]
    required: Arguments
    call: Callable[[Hidden], tuple[Type, Sequence[Leak]]]


@dataclass(frozen=True, slots=True)
class Topic:
    """What `publish` has to know of a file in realtime/: its parameters, its events' payloads."""

    parameters: Sequence[str]
    events: Mapping[str, Type]


@dataclass(frozen=True, slots=True)
class SentWebhook:
    """What `send` has to know of a file in webhooks/: its events' payloads, and its owner's kind.

    `owner` is `text` or `integer`; None where the receivers have no owner.
    """

    events: Mapping[str, Type]
    owner: str | None
