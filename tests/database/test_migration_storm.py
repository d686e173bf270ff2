"""`kill -9` in the middle of a migration: a phase is made wholly or not, and can be gone on with.

Marker `long`, but for one kill of each phase.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.postgres import DATABASES
from tests.support.storm import PHASES, Files, Ground, Schemas, Storm
from tests.support.table_changes import SAFE

KILLS = int(os.environ.get("BBOPS_MIGRATION_KILLS", "40"))
EACH = [
    "many changes of one table", "a table and a column of it are renamed", "a table with rows goes",
    "datetime becomes date", "a type and a rule elsewhere", "everything goes but teams",
]  # fmt: skip


@pytest.fixture(params=DATABASES)
def storm(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storm]:
    ground: Ground = (
        Files(tmp_path)
        if request.param == "sqlite"
        else Schemas(request.getfixturevalue("postgres"))
    )
    yield Storm(ground, tmp_path)
    ground.close()


@pytest.mark.long
@pytest.mark.parametrize("phase", [phase for phase in PHASES if phase != "settle"])
def test_a_phase_that_is_killed_is_gone_on_with(storm: Storm, phase: str) -> None:
    story = storm.tell(EACH[4] if phase != "delete" else EACH[2])
    place = storm.ground.copy("killed")
    before = [*PHASES][: [*PHASES].index(phase)]
    storm.run(place, story.case, before, 0)
    assert storm.run(place, story.case, [phase], story.statements[phase]) == -signal.SIGKILL
    storm.check(story, place)


@pytest.mark.long
def test_kills_at_any_moment_leave_no_half_state(storm: Storm) -> None:
    cases = [*EACH, *storm.random.sample([*SAFE], 10)]
    stories = [storm.tell(case) for case in cases]
    began, died = time.monotonic(), 0
    for number in range(KILLS):
        story, place = storm.random.choice(stories), storm.ground.copy("killed")
        if number % 2:
            whole = sum(story.statements.values())
            ended = storm.run(place, story.case, [*PHASES], storm.random.randint(1, whole))
        else:
            moment = storm.random.uniform(0.005, story.seconds)
            ended = storm.run(place, story.case, [*PHASES], 0, moment)
        died += ended != 0
        storm.check(story, place)
    print(f"\n{died} of {KILLS} died, {time.monotonic() - began:.1f} s")
    assert died > KILLS / 2
