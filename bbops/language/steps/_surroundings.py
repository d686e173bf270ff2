"""The resources that a step names: called functions, topics, and webhooks that are sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bbops.language.expressions.types import Type

Arguments = frozenset[tuple[str, str]]
"""Names of a function's parameters: ("input", "email")."""

Hidden = frozenset[tuple[str, str, bool]]
"""Parameters with a private argument, and whether it contains a secret of env."""


@dataclass(frozen=True, slots=True)
class Leak:
    """A step of a called function that may not use the private argument it gets."""

    code: str
    place: str


@dataclass(frozen=True, slots=True)
class Signature:
    """The signature of a function, for `call`.

    Attributes:
        arguments: the accepted fields of input, params and query, as maps; an optional field is
            `absent`.
        required: the arguments that a call must give.
        call: takes the private arguments; returns the type of the result, and the leaks that they
            would cause.
    """

    arguments: Mapping[str, Type]
    required: Arguments
    call: Callable[[Hidden], tuple[Type, Sequence[Leak]]]


@dataclass(frozen=True, slots=True)
class Topic:
    """A file in realtime/, for `publish`: its parameters, and the payloads of its events."""

    parameters: Sequence[str]
    events: Mapping[str, Type]


@dataclass(frozen=True, slots=True)
class SentWebhook:
    """A file in webhooks/, for `send`: the payloads of its events, and the kind of its owner.

    `owner` is `text` or `integer`; None if the receivers have no owner.
    """

    events: Mapping[str, Type]
    owner: str | None
