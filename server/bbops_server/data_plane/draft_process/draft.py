"""The process of one draft: it has the draft's database, values and code, and nothing else.

It is forked from a warm one and bound by `forks.limits` before it opens anything. No timer runs
while nobody asks.
"""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import uvloop

from bbops.base.errors import ServerError
from bbops.database.schema.place import read_place
from bbops_server.data_plane.draft_process.answering import Answering
from bbops_server.data_plane.draft_process.log import BoundedLog
from bbops_server.data_plane.draft_process.sign_in import sign_in
from bbops_server.data_plane.keys import answer_about_keys
from bbops_server.data_plane.live.swap import Live, Quota
from bbops_server.data_plane.pages.start_page import Start
from bbops_server.process.forks import limits
from bbops_server.process.host.clock import SystemClock
from bbops_server.process.host.egress import Egress
from bbops_server.process.host.http import OutsideHttp
from bbops_server.process.host.log import JsonLog, start_logging
from bbops_server.process.host.random import SystemRandom
from bbops_server.process.messages import Channel, Frame, answer_all

ORPHAN_GRACE_SECONDS: Final = 1.0
_QUOTA: Final = Quota(
    limits.DRAFT_DATABASE_BYTES, limits.DRAFT_UPLOADS_BYTES, limits.DRAFT_HISTORY_BYTES
)
_LATE_IMPORTS: Final = (
    "bcrypt", "jwt", "multipart", "puremagic", "anyio._backends._asyncio", "sqlite3",
    "bbops.runtime.steps.parallel", "encodings.idna",
)  # fmt: skip
"""What only some requests need; imported here it is shared by all drafts."""


class DraftProcess:
    """What the parent can ask of the process of a draft."""

    def __init__(
        self, live: Live, http: OutsideHttp, serving: Answering, egress: Sequence[str]
    ) -> None:
        self._live, self._http, self._serving = live, http, serving
        self._egress, self._hosts = egress, list[str]()

    async def handle(self, request: Frame) -> Frame:
        """Do what one request says. Raises: ServerError: it cannot be done."""
        verb, live = request["do"], self._live
        if verb == "link":
            await self._link(request)
        elif verb == "swap":
            live.swap(request["name"])
        elif verb == "hold":
            await live.hold(seconds=request["seconds"], drain_seconds=request["drain_seconds"])
        elif verb == "go on":
            live.go_on()
        elif verb == "drain":
            await live.drain()
        elif verb == "egress":
            self._egress = request["egress"]
            self._bound()
        elif verb == "keys":
            return await answer_about_keys(live, request)
        elif verb == "sign in":
            return await sign_in(live, request)
        elif verb == "stop":
            await self.stop(request["grace_seconds"])
        elif verb != "status":
            raise ServerError(f"the process of a draft has no '{verb}'")
        return {"pid": os.getpid(), "in_flight": live.in_flight}

    async def stop(self, grace_seconds: float) -> None:
        """Take no more requests, answer those under way, close the database."""
        await self._serving.stop(grace_seconds)
        await self._live.close()
        await self._http.close()

    def _bound(self) -> None:
        """Reach what the server may, of that only the draft's hosts."""
        self._http.allow(Egress(self._egress, only=self._hosts))

    async def _link(self, request: Frame) -> None:
        self._hosts = request["hosts"]
        self._bound()
        await self._live.link(
            Path(request["artifact"]), name=request["name"], env=request["env"],
            database=read_place(request["database"]), durability=request["durability"],
            detailed=request["detailed"], history=Path(request["history"]),
            frontend=Path(request["frontend"]) if request["frontend"] else None,
            url=request["url"], start=Start(*request["start"]) if request["start"] else None,
        )  # fmt: skip


def warm() -> None:
    """Import what requests need, before anything is forked."""
    for name in _LATE_IMPORTS:
        import_module(name)


def run(words: Frame) -> None:
    """Serve until the parent says stop, or is gone.

    Args:
        words: `control`: where the parent waits for us; `socket`: where requests come in;
            `folder`: of the draft; `egress`: as of the data processes.
    """
    limits.apply(limits.DRAFT)
    os.chdir(words["folder"])
    os.umask(0o077)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(words))


async def _run(words: dict[str, Any]) -> None:
    start_logging()
    http = OutsideHttp(Egress(words["egress"], only=()))  # until it is told which
    log = BoundedLog(JsonLog(), limits.DRAFT_LOG_BYTES)
    live = Live(clock=SystemClock(), random=SystemRandom(), log=log, http=http, quota=_QUOTA)
    serving = Answering(live)
    await serving.start(words["socket"])
    process = DraftProcess(live, http, serving, words["egress"])
    gc.set_threshold(20_000, 20, 20)
    await answer_all(await Channel.connect(words["control"]), process.handle)
    await process.stop(ORPHAN_GRACE_SECONDS)
