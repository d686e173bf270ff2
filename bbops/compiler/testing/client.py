"""Serve a tree in this process, on a database file, and ask it as HTTP would."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from bbops.base.doors import Files
from bbops.base.errors import ProjectError
from bbops.base.host import Database, Http
from bbops.compiler.compile.release import build
from bbops.compiler.testing.host import fake_host
from bbops.database.migrate.migrate import apply
from bbops.database.sqlite.driver import Sqlite
from bbops.runtime.linking.release import Release, link
from bbops.source.tree import Tree


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as a client sees it."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, read as JSON; None when it is empty."""
        return msgspec.json.decode(self.body) if self.body else None


@dataclass(frozen=True, slots=True)
class Client:
    """Asks a release directly: no socket, but every byte of the ASGI protocol."""

    release: Release
    database: Database

    async def ask(
        self, method: str, path: str, body: Any = None, *,
        headers: Mapping[str, str] | None = None, raw: bytes | None = None,
        peer: str = "127.0.0.1", through: Callable[[Any], None] | None = None,
    ) -> Reply:  # fmt: skip
        """Send one request and return its answer.

        Args:
            raw: a body that is not JSON.
            peer: the address that asks.
            through: what a server does to a request before the release sees it.
        """
        sent = raw if raw is not None else b"" if body is None else msgspec.json.encode(body)
        target, _, query = path.partition("?")
        given = {"content-length": str(len(sent)), **(headers or {})}
        scope = {
            "type": "http", "method": method, "path": target, "raw_path": target.encode(),
            "query_string": query.encode(), "client": (peer, 1), "scheme": "http",
            "headers": [(k.lower().encode(), v.encode()) for k, v in given.items()],
        }  # fmt: skip
        if through is not None:
            through(scope)
        messages: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": sent, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            messages.append(message)

        await self.release(scope, receive, send)
        start, *pieces = messages
        found = {name.decode(): value.decode("latin-1") for name, value in start["headers"]}
        return Reply(start["status"], found, b"".join(one["body"] for one in pieces))


@asynccontextmanager
async def serve(
    tree: Tree, database: Path, env: Mapping[str, str] | None = None, *,
    http: Http | None = None, uploads: Files | None = None, base: Tree | None = None,
    **options: Any,
) -> AsyncIterator[Client]:  # fmt: skip
    """Build a tree, migrate a database file to it, and yield a client of it.

    Args:
        http: other servers.
        uploads: where files of requests go.
        base: what was accepted before, see `bbops.compiler.check.validate`.
        options: those of `bbops.runtime.linking.release.link`.

    Raises:
        ProjectError: the tree has errors.
    """
    built = build(tree, base=base)
    if built.project is None:
        raise ProjectError(built.diagnostics)
    apply(database, {name: table.model for name, table in built.project.tables.items()})
    door = await Sqlite.open(database)
    try:
        declared = built.project.settings.model.env
        values = {name: variable.default for name, variable in declared.items()} | dict(env or {})
        host = fake_host(door, http=http, files=uploads)
        yield Client(
            link(built.artifact, name="0123456789ab", host=host, env=values, **options), door
        )
    finally:
        await door.close()
