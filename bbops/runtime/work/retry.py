"""When a job that failed is tried again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

JITTER: Final = 0.2
"""By default: what failed together comes back apart."""


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a job is tried, and the pauses in between; the default is that of the language.

    Attributes:
        pauses: seconds after each attempt, in the place of those that grow.
        jitter: of a pause, how much it may be shorter or longer.
    """

    attempts: int = 5
    first_seconds: float = 5.0
    factor: float = 3.0
    longest_seconds: float = 3600.0
    pauses: Sequence[float] = ()
    jitter: float = JITTER

    def pause_ms(self, attempt: int, chance: float) -> int | None:
        """Return how long to wait after an attempt has failed, None when it was the last.

        Args:
            attempt: 1 for the first.
            chance: from 0 to 1, drawn for this pause.
        """
        if attempt >= self.attempts:
            return None
        if self.pauses:
            pause = self.pauses[attempt - 1]
        else:
            growth = min(attempt - 1, 64)
            pause = min(self.first_seconds * self.factor**growth, self.longest_seconds)
        return round(1000 * pause * (1 + self.jitter * (2 * chance - 1)))
