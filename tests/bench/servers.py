"""Start what is measured: our data process with a linked project, or an app written by hand."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bbops.database.schema.place import write_place
from bbops_server.data_plane.live.shared import make_bell
from bbops_server.data_plane.realtime.fanout.end import CENTER
from bbops_server.process.children import Child
from bbops_server.process.messages.lifecycle import Listen
from bbops_server.process.messages.projects import LinkRelease, SwapRelease
from tests.bench import processes, project
from tests.bench.apps import DATABASE
from tests.bench.databases import Lend, in_postgres, in_sqlite, prepare
from tests.conftest import ROOT


@dataclass(frozen=True, slots=True)
class Server:
    """A process that answers on a port of this machine."""

    pid: int
    port: int


Serving = AbstractAsyncContextManager[Server]
Start = Callable[[Path], Serving]
"""Starts a server whose files lie in a folder of its own."""


def ours(*, history: bool, lend: Lend = in_sqlite, files: Mapping[str, str] | None = None) -> Start:
    """Return what serves the compiled project by a real data process, as its parent would."""

    @asynccontextmanager
    async def start(folder: Path) -> AsyncIterator[Server]:
        with lend(folder) as place:
            link = LinkRelease(
                project="", artifact=str(prepare(folder, place, files)), name="0123456789ab",
                database=write_place(place), durability="normal", detailed=False,
                history=str(folder / "history.sqlite") if history else "", env=project.ENV,
            )  # fmt: skip
            with _listen() as listening, processes.pinned(processes.cores()[0]):
                bell, hearing = make_bell()
                with bell, hearing:
                    fds = listening.fileno(), bell.fileno()
                    words = [CENTER, str(folder / "center")]  # nobody is there: it has no topics
                    child = await Child.start("bbops_server.data_plane", fds=fds, words=words)
                port = listening.getsockname()[1]
            try:
                for request in (link, SwapRelease("", link.name), Listen()):
                    await child.ask(request, timeout_seconds=30)
                yield Server(child.pid, port)
            finally:
                await child.stop(2)

    return start


def by_hand(name: str, *, lend: Lend = in_sqlite) -> Start:
    """Return what starts one of `tests.bench.apps`, on tables like ours."""

    @asynccontextmanager
    async def start(folder: Path) -> AsyncIterator[Server]:
        with lend(folder) as place:
            prepare(folder, place)
            with _listen() as listening, processes.pinned(processes.cores()[0]):
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", "tests.bench.apps", name, str(listening.fileno())),
                    cwd=ROOT, pass_fds=(listening.fileno(),),
                    env=os.environ | {DATABASE: write_place(place)},
                )  # fmt: skip
                port = listening.getsockname()[1]
            try:
                yield Server(process.pid, port)
            finally:
                if process.returncode is None:
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
    "ours on postgres": "bbops on PostgreSQL, history off",
    "ours beside work": "bbops with triggers and tasks, history off",
    "bare": "bare ASGI",
    "by hand": "Litestar by hand",
    "with middleware": "Litestar with middleware",
    "with orm": "Litestar with SQLAlchemy",
    "with asyncpg": "Litestar with asyncpg",
}

SERVERS: dict[str, Start] = {
    "ours": ours(history=True),
    "ours off": ours(history=False),
    "ours on postgres": ours(history=False, lend=in_postgres),
    "ours beside work": ours(history=False, files=project.beside_work()),
    "bare": by_hand("bare"),
    "by hand": by_hand("by_hand"),
    "with middleware": by_hand("with_middleware"),
    "with orm": by_hand("with_orm"),
    "with asyncpg": by_hand("with_asyncpg", lend=in_postgres),
}
"""A peer, such as another backend that is installed, is one more entry here and in TITLES."""
