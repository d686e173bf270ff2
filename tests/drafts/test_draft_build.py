"""What a draft's files and tables do when it is built: it ends in time, in a process of its own."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bbops.base.errors import BbopsError
from bbops_server.process.forks.limits import DRAFT_BUILD_SECONDS, DRAFT_DATABASE_BYTES
from bbops_server.process.messages.builds import BuildRelease
from bbops_server.process.messages.tables import ExpandTables, ExpandTablesAnswer
from bbops_server.publish.processes.draft_build import DraftBuild, DraftTooLong
from tests.support.drafting import branch, enter, find, served
from tests.support.patience import wait_for
from tests.support.served import Served
from tests.support.small_project import write_project

__all__ = ["served"]

SECONDS = 15.0
TABLE = """
columns:
  id: {{ type: integer, primaryKey: true }}
  text: {{ type: text, maxLength: 1000000, default: {default} }}
checks:
{checks}
seed:
{seed}
"""


def table(*, length: int, checks: str = "one: id >= 0", rows: int) -> str:
    seed = "".join(f"  - {{ id: {at} }}\n" for at in range(rows))
    return TABLE.format(default="x" * length, checks=f"  {checks}", seed=seed)


def growing(times: int) -> str:
    return "one: (text" + " | replace('x', 'xxxxxxxxxx')" * times + " | length) != 1"


COMPUTES = table(length=9_000, rows=2_000, checks="\n  ".join(
    f"c{at}: (text | replace('x','yy') | replace('y','zz') | replace('z','xx') | length) != {at}"
    for at in range(50)
))  # fmt: skip
"""Takes SQLite a minute."""


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def building(runner: asyncio.Runner) -> Iterator[DraftBuild]:
    async def make() -> DraftBuild:
        return DraftBuild(SECONDS)

    building = runner.run(make())
    yield building
    runner.run(building.stop())
    assert building.pid is None


def test_a_server_that_stops_while_the_process_starts_leaves_none(
    runner: asyncio.Runner, tmp_path: Path
) -> None:
    async def stopped() -> DraftBuild:
        building = DraftBuild(SECONDS)
        asking = asyncio.create_task(publish(building, tmp_path, {}))
        await asyncio.sleep(0)
        await building.stop()
        with pytest.raises(BbopsError, match="shutting down"):
            await asking
        return building

    assert runner.run(stopped()).pid is None


async def publish(building: DraftBuild, folder: Path, tables: dict[str, str]) -> ExpandTablesAnswer:
    """Build a project of these tables, then make them; return what was done to the database."""
    write_project(folder, {f"tables/{name}.yaml": text for name, text in tables.items()})
    source = {"kind": "folder", "path": str(folder)}
    asked = BuildRelease(source, str(folder / ".state/artifacts"))
    built = await building.ask(asked, timeout_seconds=60)
    assert built.ok, built.diagnostics
    place = str(folder / ".state/data.sqlite"), str(folder / ".state")
    return await building.ask(ExpandTables(*place, built.digest), timeout_seconds=60)


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "what"),
    [
        (COMPUTES, "longer than"),
        (table(length=400_000, rows=20_000), "(full|longer than|unexpected error)"),
        (table(length=90_000, rows=3, checks=growing(6)), "(too big|MemoryError|longer than)"),
    ],
    ids=["computes", "fills the disk", "allocates"],
)
def test_tables_that_take_too_much_are_ended_in_time(
    runner: asyncio.Runner, building: DraftBuild, tmp_path: Path, text: str, what: str
) -> None:
    runner.run(publish(building, tmp_path / "warm", {}))
    began = time.monotonic()
    with pytest.raises(BbopsError, match=what):
        runner.run(publish(building, tmp_path / "a", {"heavy": text}))
    assert time.monotonic() - began < 2 * SECONDS + 5
    size = sum(path.stat().st_size for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert size < 3 * DRAFT_DATABASE_BYTES
    assert runner.run(publish(building, tmp_path / "b", {})).changes  # the next one is served


@pytest.mark.long
def test_drafts_take_turns_and_pay_for_no_other(
    runner: asyncio.Runner, building: DraftBuild, tmp_path: Path
) -> None:
    async def main() -> list[Any]:
        heavy = publish(building, tmp_path / "a", {"heavy": COMPUTES})
        light = (publish(building, tmp_path / f"l{at}", {}) for at in range(3))
        return await asyncio.gather(heavy, *light, return_exceptions=True)

    heavy, *light = runner.run(main())
    assert isinstance(heavy, DraftTooLong)
    assert all("create table 'notes'" in one.changes for one in light)


@pytest.mark.long
def test_one_that_nobody_waits_for_any_more_keeps_nobody_waiting(
    runner: asyncio.Runner, building: DraftBuild, tmp_path: Path
) -> None:
    async def main() -> float:
        await publish(building, tmp_path / "warm", {})
        task = asyncio.create_task(publish(building, tmp_path / "a", {"heavy": COMPUTES}))
        await asyncio.sleep(1)
        task.cancel()
        began = time.monotonic()
        await publish(building, tmp_path / "b", {})
        return time.monotonic() - began

    assert runner.run(main()) < SECONDS


@pytest.mark.long
def test_what_ends_leaves_neither_process_nor_files_and_starts_nothing(
    runner: asyncio.Runner, tmp_path: Path
) -> None:
    async def main() -> tuple[int, Path]:
        building = DraftBuild()
        await publish(building, tmp_path / "a", {})
        pid, scratch = building.pid, building._scratch
        assert pid is not None
        assert scratch is not None
        await building.stop()
        with pytest.raises(BbopsError, match="shutting down"):
            await publish(building, tmp_path / "b", {})
        return pid, scratch

    pid, scratch = runner.run(main())
    assert not scratch.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.long
def test_a_draft_that_takes_too_long_delays_no_publication(served: Served) -> None:
    with branch(served, "heavy"):
        path = served.repository / "tables/heavy.yaml"
        path.write_text(COMPUTES)
        served.commit("Compute for a minute")
    with branch(served, "light"):
        (served.repository / "LIGHT").write_text("light")
        served.commit("Change nothing")
    began = time.monotonic()
    with enter(served, "heavy") as heavy:
        heavy.get("api/me")
        served.edit("project.yaml", "env:\n", "env:\n  EXTRA: { default: more }\n")
        commit = served.commit("Publish beside it")
        assert served.live_of(commit)
        assert time.monotonic() - began < DRAFT_BUILD_SECONDS
        wait_for(lambda: find(served, "heavy")["state"] == "stalled")
        assert "longer than 30 seconds to change its tables" in find(served, "heavy")["message"]
    with enter(served, "light") as light:
        wait_for(lambda: light.get("api/me").status_code == 401)
