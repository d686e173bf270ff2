"""Print how the checker fares with mutants of the samples: `python -m tests.mistakes`.

By default a sample of them, whose seed is printed; `--all` takes every mutant of every place, some
seven minutes of CPU.
"""

from __future__ import annotations

import argparse
import os
import random
from collections.abc import Sequence

from tests.mistakes.judging import Judge, Verdict, rates
from tests.mistakes.known import KNOWN
from tests.mistakes.mutants import Mutant, mutants
from tests.mistakes.sample import FOLDERS, read_sample

SIZE = 2_000
SEED = int(os.environ.get("BBOPS_SEED", "7"))


def verdicts_of(seed: int, size: int | None = SIZE) -> list[Verdict]:
    """Judge `size` mutants of all samples, or every one if that is None."""
    judges = {folder.name: Judge(read_sample(folder)) for folder in FOLDERS}
    made: Sequence[Mutant] = [each for judge in judges.values() for each in mutants(judge.sample)]
    if size is not None:
        made = random.Random(seed).sample(made, min(size, len(made)))
    return [judges[mutant.sample].judge(mutant) for mutant in made]


def main() -> None:
    """Print a line for each operator, and each miss that is not known."""
    parser = argparse.ArgumentParser(prog="python -m tests.mistakes")
    parser.add_argument("--all", action="store_true", help="every mutant, not a sample")
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    verdicts = verdicts_of(given.seed, None if given.all else SIZE)
    print("every mutant" if given.all else f"{SIZE} mutants, --seed {given.seed}")
    print(f"{'operator':20} {'mutants':>8} {'mistakes':>8} {'at place':>8} {'single':>8}")
    for name, rate in rates(verdicts).items():
        print(f"{name:20} {rate.made:8} {rate.mistakes:8} {rate.at_place:8.1%} {rate.single:8.1%}")
    for verdict in verdicts:
        if verdict.is_missed and verdict.mutant.name not in KNOWN:
            print(f"missed: {verdict.mutant}")


if __name__ == "__main__":
    main()
