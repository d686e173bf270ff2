"""A project with an agent, its vendor, and workers that are killed behind a commit."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bbops.base.host import HttpRequest, HttpResponse
from bbops.compiler.compile.release import build
from bbops.compiler.compile.row_events import find_row_events
from bbops.compiler.testing.host import FakeHttp, KeptLog, fake_host
from bbops.database.migrate.migrate import apply
from bbops.database.migrate.opened import write_tables
from bbops.database.postgres.driver import Postgres
from bbops.database.postgres.work import PostgresWork
from bbops.database.schema.place import Place
from bbops.database.sqlite.driver import Sqlite
from bbops.database.sqlite.work import SqliteWork
from bbops.runtime.agents.control import AgentControl, RunDetails
from bbops.runtime.linking.release import link
from bbops.runtime.linking.work import Work, link_work
from bbops.runtime.work.sql_engine import SqlEngine
from bbops.runtime.work.statements import emit
from bbops.runtime.work.worker import Attempt, run_attempt
from bbops.source.tree import MemoryTree
from tests.support.mortal import KilledError, Mortal
from tests.support.postgres import SLOW_DATABASES, place_of


@pytest.fixture(params=SLOW_DATABASES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with place_of(request, tmp_path / "data.sqlite") as place:
        yield place


PROJECT = """
bbops: 1
name: help
env:
  AI_KEY: { secret: true }
"""
NOTES = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  text: { type: string, maxLength: 200 }
  pin: { type: string, private: true, default: none }
"""
ADD = """
description: Adds a note.
input: { text: { type: string, maxLength: 200 } }
steps:
  - insert: { table: notes, data: { text: "${ input.text }" } }
    as: note
  - return:
      value: { id: "${ vars.note.id }" }
"""
FAIL = """
description: Fails.
steps:
  - throw: { status: 404, message: there is no such thing }
"""
AGENT = """
model: { addon: aiModel, name: large, prices: { input: 1, output: 2 } }
instructions: Keep the notes.
tools:
  - fail
  - { function: add, approval: APPROVAL }
runsOn:
  event: note.wanted
  schedule: 0 8 * * 1
limits: { maxSteps: 4, tokens: 1000 }
"""
HEAR = "event: bbops.agent-finished\nfunction: fail\n"
BOARD = """
topic: board
authentication: None
subscribe: true
events:
  asked: { text: string }
  told: { text: string }
"""
FILES = {
    "triggers/finished.yaml": HEAR, "realtime/board.yaml": BOARD,
    "project.yaml": PROJECT, "tables/notes.yaml": NOTES, "functions/add.yaml": ADD,
    "functions/fail.yaml": FAIL,
    "addons/aiModel.yaml": "enabled: true\nconfig: { apiKey: '${ env.AI_KEY }' }\n",
}  # fmt: skip


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"name": tool, "arguments": json.dumps(arguments)}


class Vendor(FakeHttp):
    """A vendor whose answers follow a script: a text, or calls of tools."""

    def __init__(self, script: Sequence[Any]) -> None:
        super().__init__()
        self.script = script

    async def send(self, request: HttpRequest) -> HttpResponse:
        self.sent.append(request)
        asked = json.loads(request.body)["messages"]
        number = sum(message["role"] == "assistant" for message in asked)
        message: dict[str, Any] = {"role": "assistant", "content": None}
        told = self.script[number]
        if isinstance(told, str):
            message["content"] = told
        else:
            message["tool_calls"] = [
                {"id": f"call_{number}_{at}", "type": "function", "function": call}
                for at, call in enumerate(told)
            ]
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        answer = {
            "id": "c", "model": "large", "created": 1, "choices": choices, "usage": usage,
        }  # fmt: skip
        kind = {"content-type": "application/json"}
        return HttpResponse(200, kind, json.dumps(answer).encode())


class Desk:
    """A project with an agent, its vendor, and one worker after the other."""

    def __init__(self, database: Any, script: Sequence[Any], agent: str) -> None:
        self.database, self.vendor = database, Vendor(script)
        self.random, self.log = fake_host(database).random, KeptLog()
        self.dialect: Any = SqliteWork() if isinstance(database, Sqlite) else PostgresWork()
        engine = "sqlite" if isinstance(database, Sqlite) else "postgres"
        built = build(MemoryTree({**FILES, "agents/keeper.yaml": agent}), database=engine)
        assert built.project is not None, [str(problem) for problem in built.diagnostics]
        self.artifact = built.artifact
        self.control = AgentControl(database)
        self.last: Attempt

    def work(self, door: Any) -> Work:
        host = fake_host(door, http=self.vendor)
        host = replace(host, random=self.random, log=self.log)
        release = link(self.artifact, name="a", host=host, env={"AI_KEY": "k" * 40})
        return link_work(self.artifact, release)

    async def attempt(self, name: str, commits: int = 0) -> str:
        """Run the next job once by a new worker; return its outcome, `over` without a job."""
        door = Mortal(self.database, 0)
        engine = SqlEngine(door, self.dialect, name)  # type: ignore[arg-type]
        work = self.work(door)
        await engine.pump(work.plan.route)
        await engine.reclaim()
        claims = await engine.claim(1)
        door.left = commits
        try:
            for claim in claims:
                self.last = await run_attempt(engine, claim, work.plan, lambda: 0.5)
                return self.last.outcome
        except KilledError:
            return "killed"
        return "over"

    async def notes(self) -> list[str]:
        return [text for (text,) in await self.database.read("SELECT text FROM notes ORDER BY id")]

    async def only_run(self) -> RunDetails:
        (run,) = await self.control.runs(10)
        details = await self.control.show(run.name)
        assert details is not None
        return details


def on_desk(
    place: Place, script: Sequence[Any], do: Callable[[Desk], Any], agent: str = AGENT,
    approval: str = "false",
) -> Any:  # fmt: skip
    async def main() -> Any:
        text = agent.replace("APPROVAL", approval)
        engine = "sqlite" if isinstance(place, Path) else "postgres"
        tree = MemoryTree({**FILES, "agents/keeper.yaml": text})
        built = build(tree, database=engine)  # type: ignore[arg-type]
        assert built.project is not None, [str(problem) for problem in built.diagnostics]
        tables = {name: table.model for name, table in built.project.tables.items()}
        found = find_row_events(built.project)
        apply(place, tables)
        with write_tables(place) as opened:
            opened.transact(lambda: opened.live.report_changes(found))
        database: Any
        if isinstance(place, Path):
            database = await Sqlite.open(place)
        else:
            database = await Postgres.open(place)
        try:
            if "note.wanted" in text:
                await database.write_all([emit("note.wanted", '{"topic":"tea"}', 0)])
            return await do(Desk(database, script, text))
        finally:
            await database.close()

    return asyncio.run(main())
