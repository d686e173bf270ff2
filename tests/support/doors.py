"""One release behind a door, asked without a socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from bbops.base.host import OpenHttp
from bbops.compiler.compile.release import build
from bbops.database.migrate import migrate
from bbops.source.tree import MemoryTree
from bbops_server.data_plane.gateway.gateway import DataPlane
from bbops_server.data_plane.live.directory import Directory
from bbops_server.data_plane.live.swap import Live
from bbops_server.process.host.log import JsonLog
from bbops_server.process.host.system import SystemClock, SystemRandom
from tests.support.small_project import FILES, hello

ENV = {"GREETING": "hi", "SECRET": "x", "MODEL_KEY": "x"}


class Body:
    """The body of a request, which arrives when a test sends it; until then the request waits."""

    def __init__(self, content: bytes = b'{"title": "late"}') -> None:
        self.is_awaited, self._sent = asyncio.Event(), asyncio.Event()
        self._content = content

    def send(self) -> None:
        """Let the body arrive."""
        self._sent.set()

    async def receive(self) -> dict[str, Any]:
        """Return the body, as a server gives it to an application."""
        self.is_awaited.set()
        await self._sent.wait()
        return {"type": "http.request", "body": self._content, "more_body": False}


class Door:
    """A DataPlane in this process, asked as a server would ask it."""

    def __init__(
        self, tmp_path: Path, more_files: Mapping[str, str] | None = None,
        streams: OpenHttp | None = None,
    ) -> None:  # fmt: skip
        self.folder, self._more_files = tmp_path, more_files or {}
        self.directory = Directory(
            lambda: Live(clock=SystemClock(), random=SystemRandom(), log=JsonLog(), streams=streams)
        )
        self.live = self.directory.projects[""]
        self.app = DataPlane(self.directory)

    def compile(self, version: int) -> Path:
        built = build(MemoryTree({**FILES, **hello(version), **self._more_files}))
        assert built.project is not None, built.diagnostics
        tables = {name: found.model for name, found in built.project.tables.items()}
        migrate.apply(self.folder / "data.sqlite", tables)
        path = self.folder / built.digest
        path.write_bytes(built.artifact)
        return path

    async def publish(self, version: int) -> None:
        await self.link(version)
        self.live.swap(f"r{version}")

    async def link(self, version: int) -> None:
        database = self.folder / "data.sqlite"
        path = self.compile(version)
        await self.live.link(path, name=f"r{version}", env=ENV, database=database)

    async def ask(self, *path: str, **more: Any) -> tuple[int, dict[str, str], Any]:
        """Return status, headers and value of a JSON answer; see `fetch`."""
        status, headers, content = await self.fetch(*path, **more)
        return status, headers, json.loads(content) if content else None

    async def fetch(
        self, path: str = "/hello", *, method: str = "GET",
        headers: list[tuple[bytes, bytes]] | None = None, query: bytes = b"",
        body: Body | None = None,
    ) -> tuple[int, dict[str, str], bytes]:  # fmt: skip
        given = [(b"host", b"localhost")] if headers is None else headers
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(),
            "query_string": query, "headers": given, "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80), "scheme": "http", "root_path": "", "http_version": "1.1",
        }  # fmt: skip
        sent: list[dict[str, Any]] = []

        if body is None:
            body = Body(b"")
            body.send()

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self.app(scope, body.receive, send)
        content = b"".join(one.get("body", b"") for one in sent)
        head = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return sent[0]["status"], head, content

    async def begin_note(self, path: str = "/notes") -> tuple[Body, asyncio.Task[Any]]:
        """Begin to add a note, whose body is still to come; return the body and the request."""
        body = Body()
        request = asyncio.create_task(self.ask(path, method="POST", body=body))
        await body.is_awaited.wait()
        return body, request


def run(tmp_path: Path, test: Callable[[Door], Awaitable[None]]) -> None:
    async def main() -> None:
        door = Door(tmp_path)
        await test(door)
        await door.directory.close()

    asyncio.run(main())
