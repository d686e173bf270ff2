"""What the steps of one function say beside their mistakes."""

from __future__ import annotations

from dataclasses import dataclass, field

from bbops.language.expressions.known import Known
from bbops.language.expressions.types import Type
from bbops.source.yaml.document import Mark


@dataclass(frozen=True, slots=True)
class Round:
    """What is known where the steps of a loop's round end before their last one.

    Attributes:
        broken: at each `break`.
        skipped: at each `continue`.
    """

    broken: list[Known] = field(default_factory=list)
    skipped: list[Known] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Notes:
    """What the steps of one function say beside their mistakes.

    Attributes:
        reads: (kind, name) of everything looked up: what the code depends on.
        gives: the types of what it returns.
        leaves: what is known wherever it ends without a value.
        places: where each variable is set for the first time.
        had: every type that each variable had.
        rounds: what is known when a round of a loop begins, by the loop's identity.
        around: the loops around a step; a text is what none of them can be left out of.
    """

    reads: set[tuple[str, str]] = field(default_factory=set)
    gives: list[Type] = field(default_factory=list)
    leaves: list[Known] = field(default_factory=list)
    places: dict[str, Mark | None] = field(default_factory=dict)
    had: dict[str, list[Type]] = field(default_factory=dict)
    rounds: dict[int, Known] = field(default_factory=dict)
    around: list[Round | str] = field(default_factory=list)
