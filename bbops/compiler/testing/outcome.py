"""The outcomes of test cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bbops.base.diagnostics import Place
from bbops.compiler.testing.tracing import Traced


@dataclass(frozen=True, slots=True)
class Wrong:
    """One expectation that does not hold, and where it stands."""

    place: Place
    message: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a request or of a function; `value` has a type of JSON, or is text."""

    status: int
    headers: dict[str, str]
    value: Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """One case: it passed when nothing is wrong. Only a failed one has steps and an answer.

    Attributes:
        test: the name of the file below `tests/`, without its ending.
        answer: status and value as one line, secrets masked.
        log: the lines that the function logged.
    """

    test: str
    case: str
    place: Place
    seconds: float
    wrong: tuple[Wrong, ...] = ()
    answer: str = ""
    steps: tuple[Traced, ...] = ()
    log: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """How the case is called on the command line."""
        return f"{self.test}::{self.case}"
