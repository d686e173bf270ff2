"""Run tests, and run the few that failed again, alone.

    python3 .ci/second_chance.py --deadline SECONDS [--pytest PATH] [--tally FILE] COMMAND…

COMMAND runs pytest in some way. If pytest ended with exit status 1, each collected test has a
result and at most ten failed, exactly those tests run again in one process, up to twice. Tests
that pass then are listed as flaky. Everything else fails: another exit status, a file that
cannot be collected, a test without a result, a worker that was killed. With `--tally`, a run
that selects no test passes.

The exit status is 0 if every test has passed, 124 at the deadline, and 1 otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import deadline

MOST_FAILURES = 10
RERUNS = 2
NOTHING_COLLECTED = 5
"""Exit status of pytest if no test was selected."""


@dataclass(slots=True)
class TestRun:
    """A run of pytest, as `tests/support/outcomes.py` logged it."""

    status: int
    collected: set[str] = field(default_factory=set)
    started: set[str] = field(default_factory=set)
    finished: set[str] = field(default_factory=set)
    outcomes: dict[str, str] = field(default_factory=dict)
    not_collected: list[str] = field(default_factory=list)
    killed_workers: int = 0
    exit_logged: int | None = None

    def add(self, line: dict[str, object]) -> None:
        """Add a line of the log."""
        match line:
            case {"collected": list(names)}:
                self.collected.update(map(str, names))
            case {"not_collected": str(name)}:
                self.not_collected.append(name)
            case {"started": str(name)}:
                self.started.add(name)
            case {"finished": str(name)}:
                self.finished.add(name)
            case {"reported": str(name), "outcome": str(outcome)}:
                if self.outcomes.get(name) != "failed":
                    self.outcomes[name] = outcome
            case {"killed": _}:
                self.killed_workers += 1
            case {"exit": int(status)}:
                self.exit_logged = status

    @property
    def failed(self) -> list[str]:
        """Node ids of the tests that failed, sorted."""
        return sorted(name for name, outcome in self.outcomes.items() if outcome == "failed")

    @property
    def passed(self) -> int:
        """The number of tests that passed."""
        return sum(outcome == "passed" for outcome in self.outcomes.values())

    def defect(self) -> str:
        """Return why the failed tests of this run get no second chance; empty if they do."""
        if self.status == deadline.TIMED_OUT:
            return "not finished in time; running: " + _listed(self.started - self.finished)
        if self.exit_logged is None:
            return f"no pytest finished (exit status {self.status})"
        if self.not_collected:
            return "not collected: " + _listed(self.not_collected)
        if self.killed_workers:
            return f"{self.killed_workers} of the worker processes died"
        if missing := self.collected - self.outcomes.keys():
            return f"{len(missing)} tests have no result: " + _listed(missing)
        if self.status not in {0, 1} or self.status != self.exit_logged:
            return f"exit status {self.status}, of pytest {self.exit_logged}"
        if self.status and not self.failed:
            return "exit status 1, but no test failed"
        if len(self.failed) > MOST_FAILURES:
            return f"{len(self.failed)} tests failed; at most {MOST_FAILURES} run again"
        return ""


def run_tests(command: Sequence[str], until: float) -> TestRun:
    """Run a command that runs pytest, and return its results."""
    with tempfile.TemporaryDirectory(prefix="outcomes-") as folder:
        log = Path(folder, "log")
        status = deadline.run(command, until, {**os.environ, "BBOPS_OUTCOMES": str(log)})
        run = TestRun(status)
        for line in log.read_text("utf-8").splitlines() if log.exists() else ():
            if line.endswith("}"):  # the last one of a killed process may be cut
                run.add(json.loads(line))
    return run


@dataclass(frozen=True, slots=True)
class Verdict:
    """The flaky and failed tests of a run, or the reason for giving no second chance."""

    flaky: Sequence[str] = ()
    failed: Sequence[str] = ()
    defect: str = ""

    def render(self) -> str:
        """Return the lines to print after the output of pytest."""
        flaky = f"flaky: {_listed(self.flaky)}\n" if self.flaky else ""
        failed = self.defect or _listed(self.failed)
        return flaky + (f"failed: {failed}\n" if failed else "")


def judge(first: TestRun, pytest: str, until: float) -> Verdict:
    """Run the failed tests of `first` again where that is allowed, and return the verdict."""
    failed, defect = first.failed, first.defect()
    for attempt in range(RERUNS):
        if defect or not failed:
            break
        print(f"second chance {attempt + 1} of {RERUNS}: {_listed(failed)}", flush=True)
        again = run_tests([pytest, "-q", "-m", "", *failed], until)
        failed, defect = again.failed, again.defect()
    if defect:
        return Verdict(failed=first.failed, defect=defect)
    return Verdict(sorted(set(first.failed) - set(failed)), failed)


def main() -> int:
    """Run the command, then the second chances, and print the verdict."""
    parser = argparse.ArgumentParser(description="Run tests, and those that failed again, alone.")
    parser.add_argument("--deadline", type=float, required=True)
    parser.add_argument("--pytest", default=".venv/bin/pytest")
    parser.add_argument("--tally", type=Path, help="file to which 'PASSED FAILED' is appended")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    first = run_tests(given.command, given.deadline)
    if given.tally and first.status == first.exit_logged == NOTHING_COLLECTED:
        return 0
    verdict = judge(first, given.pytest, given.deadline)
    print(verdict.render(), end="")
    failures = len(verdict.failed) or bool(verdict.defect)
    if given.tally:
        with given.tally.open("a") as tally:
            tally.write(f"{first.passed + len(verdict.flaky)} {failures:d}\n")
    return deadline.TIMED_OUT if first.status == deadline.TIMED_OUT else int(failures > 0)


def _listed(names: Iterable[str]) -> str:
    return "".join(f"\n  {name}" for name in sorted(names)[:50])


if __name__ == "__main__":
    deadline.exit_on_sigterm()
    sys.exit(main())
