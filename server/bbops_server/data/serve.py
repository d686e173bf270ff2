"""A data-plane process: one loop, one live release, one control channel to the parent."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
from pathlib import Path

import uvloop

from bbops.errors import ServerError
from bbops_server.host.clock import SystemClock
from bbops_server.host.log import start_logging
from bbops_server.host.random import SystemRandom
from bbops_server.live.gateway import DataPlane
from bbops_server.live.swap import Live
from bbops_server.messages import Channel, Frame, answer_all
from bbops_server.serving import Server

ORPHAN_GRACE_SECONDS = 10.0
"""How long requests may still take when the parent has died."""


class DataProcess:
    """What the parent can ask of a data-plane process."""

    def __init__(self, live: Live, listening: socket.socket) -> None:
        self._live, self._listening = live, listening
        self._server = Server(DataPlane(live))

    async def handle(self, request: Frame) -> Frame:
        """Do what one request says.

        Raises:
            ServerError: there is no such request; or what `Live` raises.
        """
        verb = request["do"]
        if verb == "link":
            await self._link(request)
        elif verb == "swap":
            self._live.swap(request["name"])
        elif verb == "refuse":
            self._live.refuse(request["diagnostics"])
        elif verb == "listen":
            self._server.start(self._listening)
        elif verb == "stop":
            await self.stop(request["grace_seconds"])
        elif verb != "status":
            raise ServerError(f"a data process has no '{verb}'")
        return self._status()

    async def stop(self, grace_seconds: float) -> None:
        """Accept no more requests, answer those under way, close the databases."""
        await self._server.stop(grace_seconds)
        self._listening.close()
        await self._live.close()

    async def _link(self, request: Frame) -> None:
        await self._live.link(
            Path(request["artifact"]),
            name=request["name"],
            env=request["env"],
            database=Path(request["database"]),
            durability=request["durability"],
            detailed=request["detailed"],
            history=request.get("history", True),
        )

    def _status(self) -> Frame:
        release = self._live.release
        return {
            "pid": os.getpid(),
            "release": release.name if release else None,
            "in_flight": release.in_flight if release else 0,
        }


def run(*, control: int, listening: int) -> None:
    """Serve until the parent says stop, or is gone."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(control, listening))


async def _run(control: int, listening: int) -> None:
    log = start_logging()
    live = Live(clock=SystemClock(), random=SystemRandom(), log=log)
    process = DataProcess(live, _adopt(listening))
    channel = await Channel.open(_adopt(control))
    # a full collection over all that was imported would stop requests for tens of milliseconds
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    await answer_all(channel, process.handle)
    await process.stop(ORPHAN_GRACE_SECONDS)


def _adopt(descriptor: int) -> socket.socket:
    """Take over an inherited socket; the processes this one might start do not get it."""
    os.set_inheritable(descriptor, False)  # noqa: FBT003 - its signature
    return socket.socket(fileno=descriptor)
