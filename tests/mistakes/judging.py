"""Ask the checker about mutants, and count what it says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bbops.compile.release import validate
from bbops.diagnostics import Diagnostic
from bbops.load import Cache
from bbops.tree import MemoryTree
from tests.mistakes.mutants import Mutant
from tests.mistakes.sample import Sample


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the checker said of a mutant."""

    mutant: Mutant
    found: tuple[Diagnostic, ...]

    @property
    def is_at_place(self) -> bool:
        """Whether a finding stands where the change is, or where its name is spoken of."""
        first, last = self.mutant.lines
        return any(
            one.place.file in self.mutant.speakers
            if one.place.file != self.mutant.file
            else first <= one.place.line <= last or _names(one, self.mutant)
            for one in self.found
        )

    @property
    def is_single(self) -> bool:
        """Whether there is exactly one finding."""
        return len(self.found) == 1


def _names(one: Diagnostic, mutant: Mutant) -> bool:
    """A name that its own file speaks of is told of where it is spoken of."""
    return one.place.file in mutant.speakers and mutant.what.split(" ")[0] in one.message


@dataclass(slots=True)
class Judge:
    """Validates the mutants of one sample; files that are not changed are read once."""

    sample: Sample
    cache: Cache

    def judge(self, mutant: Mutant) -> Verdict:
        """Return what is found in a mutant, beyond what is said of the sample itself."""
        files = dict(self.sample.files)
        files[mutant.file] = mutant.source(files[mutant.file])
        _, found = validate(MemoryTree(files), self.cache)
        return Verdict(
            mutant,
            tuple(one for one in found if (one.place.file, one.code) not in self.sample.said),
        )


@dataclass(frozen=True, slots=True)
class Rate:
    """How one operator fared."""

    made: int
    mistakes: int
    at_place: int
    single: int


def rates(verdicts: Iterable[Verdict]) -> dict[str, Rate]:
    """Return the rates by operator."""
    found: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        found.setdefault(verdict.mutant.operator, []).append(verdict)
    return {name: _rate(some) for name, some in found.items()}


def _rate(verdicts: list[Verdict]) -> Rate:
    mistakes = [one for one in verdicts if one.mutant.speakers]
    return Rate(
        len(verdicts), len(mistakes), sum(one.is_at_place for one in mistakes),
        sum(one.is_single for one in mistakes),
    )  # fmt: skip
