"""Two servers on one PostgreSQL share the tasks of a project: each tick runs once."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bbops.database.postgres.opened import drop_schema
from bbops.database.schema.place import PostgresPlace
from bbops.source.git import store
from tests.support.patience import wait_for
from tests.support.postgres import control_of
from tests.support.shop import FILES, Work, workers

Start = Callable[[str], Work]

TASKS = 20
BEAT = """
steps:
  - insert: { table: marks, data: { number: 0, word: "${ env.WHO }" } }
"""
PROJECT = FILES | {
    "project.yaml": b"bbops: 1\nname: shop\nenv: { WHO: {} }\n",
    "functions/beat.yaml": BEAT.encode(),
    **{f"tasks/beat{at}.yaml": b"every: 1s\nfunction: beat\noverlap: allow\n"
       for at in range(TASKS)},
}  # fmt: skip


@pytest.fixture
def start(schema: PostgresPlace, tmp_path: Path) -> Iterator[Start]:
    """Return what starts a server of a name, with a clone and a state of its own."""
    running: list[Work] = []
    store.init(tmp_path / "shop", PROJECT, message="Start")

    def start(name: str) -> Work:
        shutil.copytree(tmp_path / "shop", tmp_path / name)
        env = {"DATABASE_URL": schema.url, "WHO": name}
        given = ["--schema", schema.schema]
        running.append(Work(tmp_path / name, tmp_path / f"{name}-home", *given, env=env))
        running[-1].schema = schema
        running[-1].live()
        return running[-1]

    yield start
    for one in running:
        if one.process.poll() is None:
            one.stop()
    drop_schema(control_of(schema))


@pytest.mark.long
def test_each_tick_runs_once_also_when_one_of_two_servers_is_killed(start: Start) -> None:
    one, two = start("one"), start("two")
    wait_for(lambda: one.count("one") >= 2 * TASKS and one.count("two") >= TASKS)
    for pid in (two.process.pid, *workers(two.process.pid)):
        os.kill(pid, signal.SIGKILL)
    two.stop()
    alone = one.count("one")
    wait_for(lambda: one.count("one") >= alone + 2 * TASKS)
    os.kill(workers(one.process.pid)[0], signal.SIGKILL)  # its work process
    alone = one.count("one")
    wait_for(lambda: one.count("one") >= alone + 2 * TASKS)
    one.stop()
    ended = [uid for (uid,) in one.query("SELECT uid FROM _bbops_job_log")]
    assert len(ended) == len({*ended})
    left = one.query("SELECT uid FROM _bbops_jobs")
    marks = one.count("one") + one.count("two")
    assert len(ended) <= marks <= len(ended) + len(left)
    assert not {*ended} & {uid for (uid,) in left}
