"""The retention of runs of agents: 30 days, and in chats for as long as the chat is kept."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bbops.compiler.compile.release import build
from bbops.compiler.testing.host import fake_host
from bbops.database.migrate.migrate import apply
from bbops.database.sqlite.driver import Sqlite
from bbops.database.sqlite.work import SqliteWork
from bbops.runtime.agents.tables import INSERT_CHAT, RunRow, StepRow
from bbops.runtime.linking.release import link
from bbops.runtime.linking.work import link_work
from bbops.runtime.work.control import DAY_MS, WorkControl
from bbops.runtime.work.engine import now_ms
from bbops.source.tree import MemoryTree
from bbops_server.data_plane.work.pins import Assigned, Pins
from tests.support.helpdesk import files
from tests.support.models import KEY


async def sweep(database: Sqlite, folder: Path, artifact: bytes) -> None:
    release = link(artifact, name="a", host=fake_host(database), env={"AI_KEY": KEY})
    work = link_work(artifact, release)
    assert work is not None
    assigned = Assigned(work, database, folder / "data.sqlite", Pins(folder / "pins"))
    await assigned.sweep(WorkControl(database, SqliteWork()), 7 * DAY_MS / 1000)


def test_sweep_deletes_runs_after_30_days_unless_their_chat_is_kept(tmp_path: Path) -> None:
    built = build(MemoryTree(files("https://models.example")))
    assert built.project is not None, [str(problem) for problem in built.diagnostics]
    place = tmp_path / "data.sqlite"
    apply(place, {name: table.model for name, table in built.project.tables.items()})

    async def main() -> list[str]:
        database, now = await Sqlite.open(place), now_ms()
        try:
            for name, chat, days in (
                ("old", "", 31), ("new", "", 29), ("kept", "open", 31), ("over", "closed", 31),
            ):  # fmt: skip
                at, row = now - days * DAY_MS, RunRow(name, "helpdesk", "event", chat)
                step = StepRow(0, "message", "", {"text": name}, at)
                await database.write_all([row.insert("running", at), row.end("", at)])
                await database.write_all([step.insert(name)])
            for chat, until in (("open", now + DAY_MS), ("closed", now - DAY_MS)):
                await database.write_all([(INSERT_CHAT, (chat, "helpdesk", "", 0, 0, until))])
            await sweep(database, tmp_path, built.artifact)
            runs = await database.read("SELECT uid FROM _bbops_runs ORDER BY uid")
            steps = await database.read("SELECT run FROM _bbops_run_steps ORDER BY run")
            assert steps == runs
            return [uid for (uid,) in runs]
        finally:
            await database.close()

    assert asyncio.run(main()) == ["kept", "new"]
