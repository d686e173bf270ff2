"""Clients that others wrote, unchanged: npm's `centrifuge`, and `centrifuge-python`."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from centrifuge import Client, PublicationContext, SubscriptionEventHandler

from bbops.source.git import store
from tests.conformance import npm
from tests.conftest import ROOT
from tests.support.patience import eventually, patience
from tests.support.realtime import FILES, address, everything_else, login
from tests.support.served import Served

pytestmark = pytest.mark.long


@pytest.fixture(params=["1", "3"])
def talk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    """Serve the project by one process, or by several."""
    files = {name: text.encode() for name, text in FILES.items()}
    store.init(tmp_path / "talk", files, message="a")
    with Served(tmp_path / "talk", tmp_path / "home", "--workers", request.param) as served:
        served.live()
        yield served


def test_the_client_of_javascript_goes_through_all_of_it(talk: Served) -> None:
    script = shutil.copy(ROOT / "tests/conformance/realtime.mjs", npm.folder())
    tokens = login(talk, "ada"), login(talk, "ada"), login(talk, "ada", "3s")
    done = npm.run(Path(script), talk.serving["url"], *tokens)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "got": ["1", "2", "3", "4", "5"], "joined": ["hall"], "left": ["hall"],
        "subscribed": [[False, False], [True, True]], "present": 2, "stats": 2, "history": 1,
        "refused": {"rooms/secret": 103, "members/one": 101, "nowhere": 102}, "quiet": 103,
        "ended": [], "fetched": True, "connects": 1, "code": 0,
    }  # fmt: skip


class Noting(SubscriptionEventHandler):
    def __init__(self) -> None:
        self.got: list[str] = []

    async def on_publication(self, ctx: PublicationContext) -> None:
        self.got.append(ctx.pub.data["payload"]["text"])


def test_the_client_of_python_subscribes_publishes_and_sees_who_is_there(talk: Served) -> None:
    async def story() -> tuple[list[str], int, int]:
        client, noting = Client(address(talk)), Noting()
        async with patience():
            await client.connect()
            room = client.new_subscription("rooms/python", events=noting)
            await room.subscribe()
            await room.ready()
            await room.publish({"event": "said", "payload": {"text": "hi"}})
            await eventually(lambda: noting.got)
            present = len((await room.presence()).clients)
            history = len((await room.history(limit=5)).publications)
            await client.disconnect()
            await everything_else()
        return noting.got, present, history

    assert asyncio.run(story()) == (["hi"], 1, 1)
