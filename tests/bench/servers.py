"""Start what is measured: our data process with a linked project, or an app written by hand."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bbops.compile.release import build
from bbops.database import migrate
from bbops.tree import MemoryTree
from bbops_server.processes import Child
from tests.bench import processes, project
from tests.bench.apps.items import Items
from tests.conftest import ROOT


@dataclass(frozen=True, slots=True)
class Server:
    """A process that answers on a port of this machine."""

    pid: int
    port: int


Serving = AbstractAsyncContextManager[Server]
Start = Callable[[Path], Serving]
"""Starts a server whose files lie in a folder of its own."""


def ours(*, history: bool) -> Start:
    """Return what serves the compiled project by a real data process, as its parent would."""

    @asynccontextmanager
    async def start(folder: Path) -> AsyncIterator[Server]:
        artifact, database = prepare(folder)
        with _listen() as listening, processes.pinned(processes.cores()[0]):
            child = await Child.start("bbops_server.data", fds=(listening.fileno(),))
            port = listening.getsockname()[1]
        link = {
            "do": "link", "artifact": str(artifact), "name": "0123456789ab", "env": project.ENV,
            "database": str(database), "durability": "normal", "detailed": False,
            "history": str(database.with_name("history.sqlite")) if history else "",
        }  # fmt: skip
        for request in (link, {"do": "swap", "name": "0123456789ab"}, {"do": "listen"}):
            await child.ask(request, timeout_seconds=30)
        try:
            yield Server(child.pid, port)
        finally:
            await child.stop(2)

    return start


def prepare(folder: Path) -> tuple[Path, Path]:
    """Compile the project and fill its tables; return the artifact and the database."""
    built = build(MemoryTree(project.served_project()))
    assert built.project is not None, built.diagnostics
    tables = {name: found.model for name, found in built.project.tables.items()}
    database, artifact = folder / "data.sqlite", folder / built.digest
    migrate.apply(database, tables)
    items = Items(database)
    items.fill()
    items.connection.close()
    artifact.write_bytes(built.artifact)
    return artifact, database


def by_hand(name: str) -> Start:
    """Return what starts one of `tests.bench.apps`, on tables like ours."""

    @asynccontextmanager
    async def start(folder: Path) -> AsyncIterator[Server]:
        _, database = prepare(folder)
        with _listen() as listening, processes.pinned(processes.cores()[0]):
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "tests.bench.apps", name),
                *(str(listening.fileno()), str(database)),
                cwd=ROOT, pass_fds=(listening.fileno(),),
            )  # fmt: skip
            port = listening.getsockname()[1]
        try:
            yield Server(process.pid, port)
        finally:
            process.send_signal(signal.SIGTERM)
            await process.wait()

    return start


def _listen() -> socket.socket:
    listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
    listening.settimeout(0)
    return listening


TITLES = {
    "ours": "bbops",
    "ours off": "bbops, history off",
    "bare": "bare ASGI",
    "by hand": "Litestar by hand",
    "with middleware": "Litestar with middleware",
}

SERVERS: dict[str, Start] = {
    "ours": ours(history=True),
    "ours off": ours(history=False),
    "bare": by_hand("bare"),
    "by hand": by_hand("by_hand"),
    "with middleware": by_hand("with_middleware"),
}
"""A peer, such as another backend that is installed, is one more entry here and in TITLES."""
