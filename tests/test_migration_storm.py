"""`kill -9` in the middle of a migration: a phase is made wholly or not, and can be gone on with.

Marker `long`, but for one kill of each phase.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bbops.database import migrate, rollout
from tests.migrating import declare, query, schema_of
from tests.test_database_changes import ROWS, SAFE, SPEC, changed
from tests.test_phases import CASES, end_of

KILLS = int(os.environ.get("BBOPS_MIGRATION_KILLS", "200"))
SEED = 20261121
EACH = [
    "many changes of one table", "a table and a column of it are renamed", "a table with rows goes",
    "datetime becomes date", "a type and a rule elsewhere", "everything goes but teams",
]  # fmt: skip


def expand(path: Path, case: str) -> None:
    wanted = changed(CASES[case])
    rollout.expand(path, wanted, {rollout.plan(path, wanted).migration.hash})


def switch(path: Path, case: str) -> None:
    if rollout.plan(path, changed(CASES[case])).phases.switches:
        rollout.switch(path, "a release", until=time.monotonic() + 60)


PHASES: dict[str, Callable[[Path, str], object]] = {
    "expand": expand,
    "switch": switch,
    "settle": lambda path, _: rollout.settle(path, "a release"),
    "narrow": lambda path, _: rollout.narrow(path),
    "delete": lambda path, _: rollout.delete_hidden(path, "test"),
}


class Killed(sqlite3.Connection):
    """Dies at a statement."""

    left = 0

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        Killed.left -= 1
        if not Killed.left:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().execute(*arguments)


def work(path: Path, case: str, phases: list[str], kill_at: int) -> None:
    """Go through phases, in a process of its own."""
    Killed.left, connect = kill_at, sqlite3.connect
    sqlite3.connect = lambda *a, **k: connect(*a, **{**k, "factory": Killed})  # type: ignore[assignment]
    for phase in phases:
        PHASES[phase](path, case)
    path.with_name("statements").write_text(str(kill_at - Killed.left))


@dataclass(frozen=True)
class Story:
    """What one change of tables looks like when nobody is killed."""

    case: str
    states: list[Any]
    statements: dict[str, int]
    end: dict[str, Any]


class Storm:
    def __init__(self, folder: Path) -> None:
        self.folder, self.random = folder, random.Random(SEED)
        self.original = folder / "original.sqlite"
        migrate.apply(self.original, declare(SPEC))
        for statement in ROWS:
            query(self.original, statement)
        query(self.original, "PRAGMA wal_checkpoint(TRUNCATE)")
        self.processes = multiprocessing.get_context("forkserver")
        self.processes.set_forkserver_preload([__name__])

    def copy(self, name: str) -> Path:
        for one in self.folder.glob(f"{name}.sqlite*"):
            one.unlink()
        path = self.folder / f"{name}.sqlite"
        shutil.copy(self.original, path)
        return path

    def tell(self, case: str) -> Story:
        """Go through all phases, and remember what each leaves behind."""
        path = self.copy("whole")
        states, statements, end = [state_of(path)], {}, {}
        for phase in PHASES:
            self.run(path, case, [phase], 0)
            statements[phase] = int(path.with_name("statements").read_text())
            states.append(state_of(path))
            if phase == "narrow":
                end = end_of(path, changed(CASES[case]))
        return Story(case, states, statements, end)

    def run(
        self, path: Path, case: str, phases: list[str], kill_at: int, seconds: float = 60
    ) -> int:
        """Return how the process ended that went through phases, killed at a statement or then."""
        process = self.processes.Process(target=work, args=(path, case, phases, kill_at))
        process.start()
        process.join(seconds)
        process.kill()
        process.join()
        assert process.exitcode in {0, -signal.SIGKILL}
        return process.exitcode

    def check(self, story: Story, path: Path) -> None:
        """Look at what a kill has left, go on from there, and look at the end."""
        assert query(path, "PRAGMA integrity_check") == [("ok",)]
        assert state_of(path) in story.states, "neither before a phase nor after it"
        for phase, go_on in PHASES.items():
            if phase == "delete":
                assert end_of(path, changed(CASES[story.case])) == story.end
            go_on(path, story.case)
        assert state_of(path) == story.states[-1]
        assert end_of(path, changed(CASES[story.case])) == story.end


def state_of(path: Path) -> Any:
    """Return all that tells how far a file is."""
    own = {"_bbops_schema": "spec", "_bbops_notes": "text"}
    there = {name for name, _ in schema_of(path)}
    found = [query(path, f"SELECT {own[name]} FROM {name}") for name in sorted(own.keys() & there)]
    return sorted(map(str, schema_of(path))), found


@pytest.mark.parametrize("phase", [phase for phase in PHASES if phase != "settle"])
def test_a_phase_that_is_killed_is_gone_on_with(tmp_path: Path, phase: str) -> None:
    storm = Storm(tmp_path)
    story = storm.tell(EACH[4] if phase != "delete" else EACH[2])
    path = storm.copy("killed")
    before = [*PHASES][: [*PHASES].index(phase)]
    storm.run(path, story.case, before, 0)
    assert storm.run(path, story.case, [phase], story.statements[phase]) == -signal.SIGKILL
    storm.check(story, path)


@pytest.mark.long
def test_200_kills_leave_no_half_state(tmp_path: Path) -> None:
    storm = Storm(tmp_path)
    cases = [*EACH, *storm.random.sample([*SAFE], 10)]
    stories = [storm.tell(case) for case in cases]
    began, died = time.monotonic(), 0
    for number in range(KILLS):
        story, path = storm.random.choice(stories), storm.copy("killed")
        if number % 2:
            whole = sum(story.statements.values())
            ended = storm.run(path, story.case, [*PHASES], storm.random.randint(1, whole))
        else:
            ended = storm.run(path, story.case, [*PHASES], 0, storm.random.uniform(0.005, 0.12))
        died += ended != 0
        storm.check(story, path)
    print(f"\n{died} of {KILLS} died, {time.monotonic() - began:.1f} s")
    assert died > KILLS / 2
