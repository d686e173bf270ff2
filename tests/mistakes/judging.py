"""Ask the checker about mutants, and count what it says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bbops.base.diagnostics import Diagnostic
from bbops.compiler.check import Cache, CheckedProject, check, validate
from bbops.compiler.check._checked import check_again
from bbops.language.loading.load import LoadCache, load
from bbops.source.tree import MemoryTree
from tests.mistakes.mutants import Mutant
from tests.mistakes.sample import Sample


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the checker said of a mutant."""

    mutant: Mutant
    found: tuple[Diagnostic, ...]

    @property
    def is_at_place(self) -> bool:
        """Whether a finding stands where the change is, or in a file that needs what was there."""
        first, last = self.mutant.lines
        places = [one.place for one in self.found]
        if self.mutant.is_spoken_of and any(one.file in self.mutant.speakers for one in places):
            return True
        return any(one.file == self.mutant.file and first <= one.line <= last for one in places)

    @property
    def is_missed(self) -> bool:
        """Whether a mistake is not found where it is."""
        return bool(self.mutant.speakers) and not self.is_at_place

    @property
    def is_single(self) -> bool:
        """Whether there is exactly one finding."""
        return len(self.found) == 1


class Judge:
    """Validates the mutants of one sample; what a mutant does not change is checked once."""

    def __init__(self, sample: Sample) -> None:
        self.sample, self.cache = sample, LoadCache()
        before = load(MemoryTree(sample.files), self.cache).project
        assert before is not None
        self.before = CheckedProject.of(before)
        check(self.before)

    def judge(self, mutant: Mutant) -> Verdict:
        """Return what is found in a mutant, as an editor looks for it after an edit."""
        loaded = load(self._tree(mutant), self.cache)
        found = set(loaded.diagnostics)
        if loaded.project is not None:
            found |= set(check(check_again(loaded.project, self.before)))
        return Verdict(mutant, tuple(sorted(found)))

    def judge_whole(self, mutant: Mutant) -> Verdict:
        """Return the same, by checking the whole project again."""
        return Verdict(mutant, validate(self._tree(mutant), Cache(self.cache))[1])

    def _tree(self, mutant: Mutant) -> MemoryTree:
        files = dict(self.sample.files)
        files[mutant.file] = mutant.source(files[mutant.file])
        return MemoryTree(files)


@dataclass(frozen=True, slots=True)
class Rate:
    """How one operator fared: how many mutants and mistakes, and parts of the mistakes."""

    made: int
    mistakes: int
    at_place: float
    single: float


def rates(verdicts: Iterable[Verdict]) -> dict[str, Rate]:
    """Return the rates by operator, and of all."""
    found: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        found.setdefault(verdict.mutant.operator, []).append(verdict)
    whole = [one for some in found.values() for one in some]
    return {name: rate(some) for name, some in found.items()} | {"all": rate(whole)}


def rate(verdicts: Iterable[Verdict]) -> Rate:
    """Return how many mistakes are among some mutants, and which parts of them are found."""
    made = list(verdicts)
    mistakes = [one for one in made if one.mutant.speakers]
    count = max(len(mistakes), 1)
    return Rate(
        len(made), len(mistakes), sum(one.is_at_place for one in mistakes) / count,
        sum(one.is_single for one in mistakes) / count,
    )  # fmt: skip
