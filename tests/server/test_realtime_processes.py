"""Messages of real servers while processes are killed, releases go live, and a client sleeps."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from bbops.source.git import store
from tests.support.patience import PATIENCE_SECONDS, eventually, patience, wait_for
from tests.support.realtime import FILES, Talker, address, processes, say, talker
from tests.support.served import Served

pytestmark = pytest.mark.long


@pytest.fixture
def talk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    workers = getattr(request, "param", "1")
    files = {name: text.encode() for name, text in FILES.items()}
    store.init(tmp_path / "talk", files, message="a")
    with Served(tmp_path / "talk", tmp_path / "home", "--workers", workers) as served:
        served.live()
        yield served


class Member:
    """A subscriber of `rooms/hall` that comes back when it is cut off."""

    def __init__(self, served: Served) -> None:
        self.served, self.got, self.lost = served, list[str](), 0
        self.place: dict[str, Any] = {}
        self.is_there, self.cuts = asyncio.Event(), 0

    async def run(self) -> None:
        while True:
            try:
                async with connect(address(self.served), compression=None) as there:
                    await there.send(json.dumps({"id": 1, "connect": {}}))
                    asked = {"channel": "rooms/hall", **self.place}
                    await there.send(json.dumps({"id": 2, "subscribe": asked}))
                    async for text in there:
                        for line in str(text).split("\n"):
                            self.take(json.loads(line))
            except Exception:  # noqa: BLE001 - it comes back
                await asyncio.sleep(0.02)
            self.cuts += 1

    def take(self, found: dict[str, Any]) -> None:
        if "subscribe" in found:
            result = found["subscribe"]
            self.lost += result.get("recovered") is False
            for one in result.get("publications", ()):
                self.note(one)
            self.place = {"recover": True, "epoch": result["epoch"], "offset": result["offset"]}
            self.is_there.set()
        elif "pub" in found.get("push", {}):
            self.note(found["push"]["pub"])

    def note(self, pub: dict[str, Any]) -> None:
        self.got.append(pub["data"]["payload"]["text"])
        self.place["offset"] = pub["offset"]


@pytest.mark.parametrize("talk", ["1", "3"], indirect=True)
def test_data_processes_are_killed_and_nobody_misses_or_sees_twice(talk: Served) -> None:
    async def story() -> None:
        members = [Member(talk) for _ in range(6)]
        tasks = [asyncio.create_task(one.run()) for one in members]
        texts = list[str]()
        async with (
            patience(),
            httpx.AsyncClient(base_url=talk.serving["url"], timeout=PATIENCE_SECONDS) as client,
        ):
            await asyncio.gather(*(one.is_there.wait() for one in members))
            for number in range(600):
                body = {"topic": "hall", "text": str(number)}
                try:
                    answer = await client.post("/say", json=body)
                    assert answer.status_code == 204
                    texts.append(str(number))
                except httpx.TransportError:  # it was said, or not
                    await asyncio.sleep(0.05)
                if number % 90 == 60:
                    del texts[-3:]  # what it said in its last moment may be lost: at most once
                    found = processes(talk)
                    os.kill(found[number % len(found)], signal.SIGKILL)
            await client.post("/say", json={"topic": "hall", "text": "the end"})
            await eventually(lambda: all(one.got[-1:] == ["the end"] for one in members))
        for one in members:
            assert one.lost == 0
            assert len(one.got) == len(set(one.got))
            assert [text for text in one.got if text in set(texts)] == texts
            assert one.got == members[0].got
        assert sum(one.cuts for one in members) > 3
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(story())


def test_the_process_that_numbers_is_killed_and_clients_hear_that_they_lost_something(
    talk: Served,
) -> None:
    with talker(talk) as ann:
        place = ann.subscribe("rooms/hall")
        ann.subscribe("news")
        (pid,) = processes(talk, "bbops_server.data_plane.work")
        os.kill(pid, signal.SIGKILL)
        assert ann.push() == {
            "channel": "rooms/hall", "unsubscribe": {"code": 2500, "reason": "insufficient state"},
        }  # fmt: skip
        asked = {"recover": True, "epoch": place["epoch"], "offset": place["offset"]}
        wait_for(lambda: "epoch" in (back := ann.subscribe("rooms/hall", **asked)) and back)
        say(talk, "hall", "again")
        assert sorted(one["channel"] for one in (ann.push(), ann.push())) == ["news", "rooms/hall"]


def test_a_hundred_releases_go_live_and_nobody_is_disconnected(talk: Served) -> None:
    with talker(talk) as ann, talker(talk) as bob:
        ann.subscribe("rooms/hall")
        bob.subscribe("news")
        for number in range(100):
            (talk.repository / "functions/later.yaml").write_text(
                FILES["functions/later.yaml"] + f"# {number}\n"
            )
            talk.commit()
            talk.live()
            say(talk, "hall", str(number))
            assert ann.said(1) == bob.said(1) == [str(number)]


def ended(talking: Talker) -> int:
    """Return with which code a connection ends, behind what was on its way."""
    try:
        while True:
            talking.next()
    except ConnectionClosed as found:
        return found.rcvd.code if found.rcvd else 1006


def test_a_client_that_does_not_read_is_closed_and_costs_others_nothing(talk: Served) -> None:
    with Talker(address(talk), max_size=None) as slow, talker(talk) as fast:
        slow.ask("connect")
        for one in (slow, fast):
            one.subscribe("rooms/hall")
        for number in range(400):
            text = f"{number} " + "x" * 30_000
            say(talk, "hall", text)
            assert fast.said() == [text]
        assert len(fast.ask("presence", channel="rooms/hall")["presence"]) == 1
        assert ended(slow) == 3008
