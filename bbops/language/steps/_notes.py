"""Notes of the check on the steps of one function, apart from mistakes."""

from __future__ import annotations

from dataclasses import dataclass, field

from bbops.language.expressions.known import FlowFacts
from bbops.language.expressions.types import Type
from bbops.source.yaml.document import Mark


@dataclass(frozen=True, slots=True)
class Round:
    """The facts at the early ends of a loop's round.

    Attributes:
        broken: the facts at each `break`.
        skipped: the facts at each `continue`.
    """

    broken: list[FlowFacts] = field(default_factory=list)
    skipped: list[FlowFacts] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Notes:
    """Notes on the steps of one function, apart from mistakes.

    Attributes:
        reads: (kind, name) of each resource that the code depends on.
        gives: the types of its results.
        leaves: the facts at each end without a value.
        places: the place where each variable is set for the first time.
        had: every type that each variable had.
        rounds: the facts at the beginning of a loop's round, by the loop's identity.
        around: the loops around a step; a text is a step that loops cannot leave.
    """

    reads: set[tuple[str, str]] = field(default_factory=set)
    gives: list[Type] = field(default_factory=list)
    leaves: list[FlowFacts] = field(default_factory=list)
    places: dict[str, Mark | None] = field(default_factory=dict)
    had: dict[str, list[Type]] = field(default_factory=dict)
    rounds: dict[int, FlowFacts] = field(default_factory=dict)
    around: list[Round | str] = field(default_factory=list)
