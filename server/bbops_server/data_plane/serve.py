"""A data-plane process: one loop, a live release of each project, one channel to the parent."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
from collections.abc import Sequence
from pathlib import Path

import uvloop

from bbops.base.errors import ServerError
from bbops.database.schema.place import read_place
from bbops_server.data_plane.drafts.drafts import Drafts
from bbops_server.data_plane.gateway.forwarded import Proxies
from bbops_server.data_plane.gateway.gateway import DataPlane
from bbops_server.data_plane.keys import answer_about_keys
from bbops_server.data_plane.live.directory import Directory
from bbops_server.data_plane.live.place import DraftPlace, Place
from bbops_server.data_plane.live.request_lines import RequestLines
from bbops_server.data_plane.live.shared import join
from bbops_server.data_plane.live.swap import Live
from bbops_server.data_plane.pages.start_page import Start
from bbops_server.process.host.clock import SystemClock
from bbops_server.process.host.egress import Egress
from bbops_server.process.host.http import OutsideHttp
from bbops_server.process.host.log import start_logging
from bbops_server.process.host.random import SystemRandom
from bbops_server.process.messages import Channel, Frame, answer_all
from bbops_server.process.sockets.serving import Server

ORPHAN_GRACE_SECONDS = 10.0
"""How long requests may still take when the parent has died."""


class DataProcess:
    """What the parent can ask of a data-plane process."""

    def __init__(
        self, directory: Directory, drafts: Drafts, listening: socket.socket, http: OutsideHttp,
        channel: Channel,
    ) -> None:  # fmt: skip
        self._directory, self._drafts, self._channel = directory, drafts, channel
        self._listening, self._http = listening, http
        self._plane = DataPlane(directory, drafts)
        self._server = Server(self._plane)

    async def handle(self, request: Frame) -> Frame:
        """Do what one request says.

        Raises:
            ServerError: there is no such request or project; or what `Live` raises.
        """
        verb = request["do"]
        if verb == "link":
            await self._link(request)
        elif verb == "swap":
            self._live(request).swap(request["name"])
        elif verb == "refuse":
            self._live(request).refuse(request["diagnostics"])
        elif verb == "hold":
            seconds, drain_seconds = request["seconds"], request["drain_seconds"]
            await self._live(request).hold(seconds=seconds, drain_seconds=drain_seconds)
        elif verb == "go on":
            self._live(request).go_on()
        elif verb == "drain":
            await self._live(request).drain()
        elif verb == "arrange":
            self._arrange(request)
        elif verb == "arrange drafts":
            drafts = {name: DraftPlace(**one) for name, one in request["drafts"].items()}
            self._drafts.arrange(drafts, request["hosts"])
        elif verb == "members":
            self._drafts.admit(request["members"])
        elif verb == "draft":
            self._be(request)
        elif verb == "keys":
            return await answer_about_keys(self._live(request), request)
        elif verb == "tell requests":  # before it listens
            self._server = Server(RequestLines(self._plane, self._directory, self._channel))
        elif verb == "listen":
            self._server.start(self._listening)
        elif verb == "leave":
            await self._server.leave(request["seconds"])
        elif verb == "stop":
            await self.stop(request["grace_seconds"])
        elif verb != "status":
            raise ServerError(f"a data process has no '{verb}'")
        return self._status()

    def give_up(self) -> None:
        """Let nothing wait for a parent that is gone."""
        for live in self._directory.projects.values():
            live.give_up()

    async def stop(self, grace_seconds: float) -> None:
        """Accept no more requests, answer those under way, close the databases."""
        await self._server.stop(grace_seconds)
        self._listening.close()
        await self._directory.close()
        await self._http.close()

    async def _link(self, request: Frame) -> None:
        await self._live(request).link(
            Path(request["artifact"]),
            name=request["name"],
            env=request["env"],
            database=read_place(request["database"]),
            durability=request["durability"],
            detailed=request["detailed"],
            history=Path(request["history"]) if request["history"] else None,
            frontend=Path(request["frontend"]) if request.get("frontend") else None,
            url=request.get("url", ""),
            start=Start(*request["start"]) if request.get("start") else None,
        )

    def _arrange(self, request: Frame) -> None:
        places = {
            name: Place(tuple(place["hosts"]), place["prefix"], place["was_live"])
            for name, place in request["projects"].items()
        }
        self._directory.arrange(places)
        self._http.allow(Egress(request["egress"]))
        self._plane.proxies = Proxies(request["proxies"]) if request["proxies"] else None

    def _be(self, request: Frame) -> None:
        """Take note of what becomes of a draft; of one that has just gone, nothing is known."""
        draft = self._drafts.find(request["project"])
        if draft is not None:
            draft.be(request["socket"], request["refusal"], is_busy=request["is_busy"])

    def _live(self, request: Frame) -> Live:
        name = request.get("project", "")
        live = self._directory.projects.get(name)
        if live is None:
            raise ServerError(f"no project '{name}' is served")
        return live

    def _status(self) -> Frame:
        releases = [one.release for one in self._directory.projects.values() if one.release]
        return {
            "pid": os.getpid(),
            "release": releases[0].name if len(releases) == 1 else None,
            "in_flight": sum(release.in_flight for release in releases),
        }


def run(*, control: int, listening: int, shared: Sequence[int] = ()) -> None:
    """Serve until the parent says stop, or is gone.

    Args:
        shared: descriptor, lane and number of lanes of `bbops_server.data_plane.live.shared`, if
        there is one.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(control, listening, shared))
    os._exit(0)  # to take down all that was imported takes longer than to drain


async def _run(control: int, listening: int, shared: Sequence[int]) -> None:
    log = start_logging()
    counters = join(*shared) if shared else None

    http = OutsideHttp()

    def make() -> Live:
        return Live(
            clock=SystemClock(), random=SystemRandom(), log=log, counters=counters, http=http
        )

    channel = await Channel.open(_adopt(control))
    drafts = Drafts(lambda name: channel.tell({"asked for": name}))
    process = DataProcess(Directory(make), drafts, _adopt(listening), http, channel)
    # a full collection over all that was imported would stop requests for tens of milliseconds
    gc.collect()
    gc.freeze()
    # a request leaves no circle behind, and a thousand under way are no garbage
    gc.set_threshold(20_000, 20, 20)
    await answer_all(channel, process.handle)
    process.give_up()
    await process.stop(ORPHAN_GRACE_SECONDS)


def _adopt(descriptor: int) -> socket.socket:
    """Take over an inherited socket; the processes this one might start do not get it."""
    os.set_inheritable(descriptor, False)  # noqa: FBT003 - its signature
    return socket.socket(fileno=descriptor)
