"""`bbops tasks next` computes ticks from the files of a folder without a server."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bbops.interfaces.cli._root_group import RootGroup
from bbops.runtime.work.schedules import list_ticks
from bbops.runtime.work.values import Tick
from tests.support.small_project import write_project

TASKS = {
    "tasks/nightly.yaml": (
        "schedule: 30 2 * * *\ntimezone: Europe/Berlin\njitter: 5m\nfunction: beat\n"
    ),
    "tasks/beat.yaml": "every: 90m\nfunction: beat\n",
    "tasks/off.yaml": "every: 1h\nfunction: beat\nenabled: false\n",
    "functions/beat.yaml": "steps: [{ log: { message: beat } }]\n",
}
AGENT = {
    "project.yaml": "bbops: 1\nname: small\nenv:\n  GREETING: { default: hello }\n"
    "  AI_KEY: { secret: true }\n",
    "addons/aiModel.yaml": 'enabled: true\nconfig: { apiKey: "${ env.AI_KEY }" }\n',
    "agents/morning.yaml": "model: { addon: aiModel, name: large }\ninstructions: Sum up.\n"
    "runsOn: { schedule: 0 8 * * * }\n",
}
NIGHTLY: dict[str, Any] = {
    "name": "tasks/nightly", "cron": "30 2 * * *", "timezone": "Europe/Berlin", "every_ms": 0,
    "missed": "once", "jitter_ms": 0,
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_project(tmp_path, TASKS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BBOPS_SERVER", raising=False)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(RootGroup("bbops"), ["tasks", "next", *arguments])


def test_ticks_are_listed_in_the_time_zone_of_the_task_and_in_utc(folder: Path) -> None:
    done = run("--count", "2")
    assert done.exit_code == 0, done.output
    beat, _, _, nightly, first, second = done.output.splitlines()
    assert beat == "tasks/beat  every 1:30:00"
    assert nightly == (
        "tasks/nightly  at '30 2 * * *' (Europe/Berlin), each up to 300 s later"
    )  # fmt: skip
    for line in (first, second):
        local, zone, utc = line.split()
        assert zone == "Europe/Berlin"
        assert datetime.fromisoformat(local) == datetime.fromisoformat(utc)
        assert utc.endswith("Z")
    del folder


def test_json_has_the_ticks_of_one_task(folder: Path) -> None:
    done = run("beat", "--count", "3", "--json", "--path", str(folder))
    (task,) = json.loads(done.output)
    assert (task["task"], task["schedule"], task["timezone"]) == (
        "tasks/beat", "every 1:30:00", "UTC",
    )  # fmt: skip
    first, second, third = (one["at"] for one in task["ticks"])
    assert (second - first, third - second) == (5400, 5400)


@pytest.mark.parametrize(("task", "message", "hint"), [
    ("nightl", "the project has no task 'nightl'", "nightly"),
    ("off", "task 'off' is not enabled", "remove 'enabled: false' from tasks/off.yaml"),
])  # fmt: skip
def test_an_unknown_and_a_disabled_task_are_refused_with_a_fix(
    folder: Path, task: str, message: str, hint: str
) -> None:
    done = run(task)
    assert (done.exit_code, message in done.output, hint in done.output) == (2, True, True)
    del folder


def test_a_named_server_is_asked_also_in_a_folder(folder: Path) -> None:
    done = run("--server", "http://127.0.0.1:1")
    assert (done.exit_code, "http://127.0.0.1:1" in done.output) == (2, True)
    del folder


def test_a_gap_of_the_clock_moves_the_local_time_only() -> None:
    now = round(1000 * datetime(2026, 3, 28, tzinfo=UTC).timestamp())
    found = list_ticks(NIGHTLY, 3, now)
    assert [one.local for one in found.ticks] == [
        "2026-03-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00",
    ]  # fmt: skip


def test_the_tick_that_the_queue_waits_for_is_the_first_unless_the_schedule_changed() -> None:
    hourly = {**NIGHTLY, "cron": "", "timezone": "UTC", "every_ms": 3_600_000}
    (known,) = list_ticks(hourly, 1, 0).ticks
    assert known.at == 3600
    schedule = "Schedule(cron='', timezone='UTC', every_ms=3600000, missed='once')"
    waiting = Tick("tasks/nightly", 60_000, schedule)
    assert [one.at for one in list_ticks(hourly, 2, 0, waiting).ticks] == [60, 3660]
    other = Tick("tasks/nightly", 60_000, "Schedule(every_ms=1000)")
    assert [one.at for one in list_ticks(hourly, 1, 0, other).ticks] == [3600]


def test_schedule_of_an_agent_has_the_name_of_its_agent(folder: Path) -> None:
    for path, text in AGENT.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    done = run("agents/morning", "--count", "1")
    assert done.exit_code == 0, done.output
    assert done.output.startswith("agents/morning/schedule  at '0 8 * * *' (UTC)")
