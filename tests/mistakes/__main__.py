"""Print how the checker fares with every mutant of the samples: `python -m tests.mistakes`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from tests.mistakes.judging import Judge, Verdict, rates
from tests.mistakes.known import KNOWN
from tests.mistakes.mutants import mutants
from tests.mistakes.sample import FOLDERS, read_sample


def every_verdict(part: int = 0, parts: int = 1) -> Iterator[Verdict]:
    """Judge every mutant of every sample, or one part of them, counted from 0."""
    for folder in FOLDERS:
        judge = Judge(read_sample(folder))
        yield from map(judge.judge, islice(mutants(judge.sample), part, None, parts))


def main() -> None:
    """Print a line for each operator, and each miss that is not known."""
    verdicts = list(every_verdict())
    print(f"{'operator':20} {'mutants':>8} {'mistakes':>8} {'at place':>8} {'single':>8}")
    for name, rate in rates(verdicts).items():
        print(f"{name:20} {rate.made:8} {rate.mistakes:8} {rate.at_place:8.1%} {rate.single:8.1%}")
    for verdict in verdicts:
        if verdict.is_missed and verdict.mutant.name not in KNOWN:
            print(f"missed: {verdict.mutant}")


if __name__ == "__main__":
    main()
