"""A whole server for a test: serves a folder, and again at each line that comes on stdin.

python serve_small_project.py FOLDER STATE WORKERS; prints one JSON line per publication.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path

from bbops.base.errors import BbopsError
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.interfaces.answers import ProjectCondition, ServerStatus, Status
from bbops_server.commands._main import run
from bbops_server.process.host.secrets import Secrets
from bbops_server.process.messages.builds import BuildRelease
from bbops_server.process.messages.tables import (
    ExpandTables,
    NarrowTables,
    SettleTables,
    TryStatements,
)
from bbops_server.publish.processes.link import Link
from bbops_server.publish.processes.plane import Plane
from bbops_server.settings import Settings


class Follower:
    def __init__(self, plane: Plane) -> None:
        self.plane, self.settings = plane, plane.settings
        self.count = 0

    def server(self) -> ServerStatus:
        return ServerStatus()

    def projects(self) -> list[Status]:
        ready = ProjectCondition("Ready", bool(self.count), "Published", "ok", datetime.now(UTC))
        return [
            Status("small", self.settings.data_url, "", None, None, None, [ready], [], [])
        ]  # fmt: skip

    def reconcile(self, name: str, *, again: bool = False) -> datetime | None:
        del again
        return datetime.now(UTC) if name == "small" else None

    def history(self, name: str) -> Path | None:
        return None

    def drafts(self, name: str) -> None:
        return None

    def versions(self, name: str) -> None:
        return None

    def reconcilers(self) -> tuple[()]:
        return ()

    async def warm(self) -> None:
        return None

    async def restored(self) -> None:
        return None

    async def run(self) -> None:
        await self.plane.opened.wait()
        await self.publish()
        words = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(words), sys.stdin)
        while line := await words.readline():
            word = line.decode().strip()
            if word == "refuse":
                await self.plane.refuse([JsonDiagnostic("error", "x", "a.yaml", 1, 1, "wrong")])
                self.say()
            elif word == "kill-build":
                os.kill(self.plane.build.pid or 0, signal.SIGKILL)
            elif word == "publish":
                await self.publish()
            elif word == "status":
                self.say(**await self.plane.status())
        await asyncio.Event().wait()

    def recheck_decisions(self) -> None:
        """Nothing was decided by anybody."""

    async def publish(self) -> None:
        try:
            await self.attempt()
        except BbopsError as error:
            print(json.dumps({"error": str(error)}), flush=True)
        else:
            self.count += 1
            self.say(**await self.plane.status())

    async def attempt(self) -> None:
        state, build = self.settings.state, self.plane.build
        source = {"kind": "folder", "path": sys.argv[1]}
        request = BuildRelease(source, str(state / "artifacts"))
        built = await build.ask(request, timeout_seconds=60)
        if not built.ok:
            raise BbopsError(str(built.diagnostics))
        database = state / "data.sqlite"
        place = str(database), str(state)
        await build.ask(ExpandTables(*place, built.digest), timeout_seconds=60)
        await build.ask(TryStatements(*place, built.artifact), timeout_seconds=60)
        await build.ask(SettleTables(*place, built.digest), timeout_seconds=60)
        env, _ = Secrets.open(state).resolve(built.env)
        history = database.with_name("history.sqlite")
        link = Link(
            Path(built.artifact), f"r{self.count}", "", database, history, "normal",
            detailed=False, env=env,
        )  # fmt: skip
        await self.plane.link(link)
        await self.plane.swap(link)
        await build.ask(NarrowTables(*place, built.digest), timeout_seconds=60)

    def say(self, **more: object) -> None:
        line = {"data": self.settings.data_url, "control": self.settings.control_url, **more}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    Path(sys.argv[2]).mkdir(mode=0o700, exist_ok=True)
    settings = Settings(Path(sys.argv[2]), workers=int(sys.argv[3]), port=0, control_port=0)
    asyncio.run(run(settings, lambda: Follower))
