"""Answers of models go through a whole server piece by piece."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from bbops.source.git import store
from bbops_server.data_plane.live import swap
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.http import OutsideHttp
from tests.support import small_project
from tests.support.doors import Body, Door
from tests.support.drafting import answered, branch
from tests.support.patience import PATIENCE_SECONDS, eventually, patience, wait_for
from tests.support.served import Served
from tests.support.streaming import FILES, KEY, Reading, Shop
from tests.vendors.dripping import Dripping

pytestmark = pytest.mark.long

SETTLED = 8
"""Looks, half a second apart, after which nothing moves any more."""


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with Dripping() as vendor:
        files = {path: text.replace("URL", vendor.url).encode() for path, text in FILES.items()}
        store.init(tmp_path / "shop", files, message="Start")
        (tmp_path / "settings.yaml").write_text("egress: { allow: [127.0.0.1] }\n")
        settings = ["--settings", str(tmp_path / "settings.yaml")]
        env = {"MODEL_KEY": KEY}
        with Served(tmp_path / "shop", tmp_path / "home", *settings, env=env) as served:
            served.live()
            yield Shop(served, vendor)


def test_pieces_come_as_the_vendor_sends_them(shop: Shop) -> None:
    with shop.asking() as reading:
        asked = shop.vendor.next()
        assert asked.body["stream"] is True
        assert asked.body["messages"] == [{"role": "user", "content": "Hi"}]
        assert reading.response.headers["content-type"] == "text/event-stream"
        assert reading.response.headers["cache-control"] == "no-store"
        for text in ("Hé", "llo", "\n🌍"):
            asked.say(text)
            assert reading.next() == ("text", {"text": text})
        asked.end()
        name, whole = reading.next()
        assert name == "done"
        assert whole["choices"][0]["message"]["content"] == "Héllo\n🌍"
        assert reading.rest() == []


def test_what_was_written_before_is_committed_and_no_connection_is_held(shop: Shop) -> None:
    with shop.asking() as reading:
        asked = shop.vendor.next()
        assert shop.served.api.get("/count").json() == 1
        assert shop.served.api.post("/add").json() == 1
        assert shop.served.api.get("/count").json() == 2
        asked.end()
        assert reading.rest()[-1][0] == "done"


def test_a_draft_sends_pieces_too(shop: Shop) -> None:
    served = shop.served
    state = ("--state", str(served.repository / ".bbops/state"))
    assert served.bbops("env", "set", "MODEL_KEY", "other", "--drafts", *state).returncode == 0
    with branch(served, "topic"):
        served.edit("functions/ask.yaml", "model: m", "model: other")
        served.commit()
    wait_for(lambda: "topic" in served.bbops("drafts", "list").stdout)
    host = f"127.0.0.1:{shop.vendor.server_address[1]}"
    assert served.bbops("drafts", "allow", "topic", host).returncode == 0
    made = json.loads(served.bbops("drafts", "token", "topic", "--json").stdout)
    headers = {"x-draft-token": made["token"]}
    with httpx.Client(base_url=made["url"], headers=headers, timeout=PATIENCE_SECONDS) as client:
        assert answered(lambda: client.get("count")).json() == 0
        with client.stream("POST", "ask", json={"prompt": "Hi"}) as response:
            reading, asked = Reading(response), shop.vendor.next()
            assert asked.body["model"] == "other"
            asked.say("a")
            assert reading.next() == ("text", {"text": "a"})
        assert asked.left.wait(PATIENCE_SECONDS)
        with client.stream("POST", "ask", json={"prompt": "Hi"}) as response:
            reading, asked = Reading(response), shop.vendor.next()
            asked.say("b")
            assert reading.next() == ("text", {"text": "b"})
            stopping = threading.Thread(target=served.stop)
            stopping.start()
            ((name, error),) = reading.rest()
            assert (name, error["code"]) == ("error", "serverStops")
            stopping.join()


def test_a_client_that_leaves_ends_the_vendors_request(shop: Shop) -> None:
    with shop.asking() as reading:
        asked = shop.vendor.next()
        asked.say("a")
        assert reading.next() == ("text", {"text": "a"})
    assert asked.left.wait(PATIENCE_SECONDS)


def test_a_slow_client_makes_the_vendor_wait(shop: Shop) -> None:
    shop.vendor.endless = True
    with shop.asking() as reading:
        asked = shop.vendor.next()
        wait_for(lambda: reading and asked.sent_bytes > 100_000)
        looks = [0] * SETTLED
        while len({*looks[-SETTLED:]}) > 1 or not looks[-1]:  # all buffers between are full
            time.sleep(0.5)
            looks.append(asked.sent_bytes)
        before = looks[-1]
        assert before < 40_000_000
        status = shop.served.api.get("/count")
        assert status.status_code == 200
        while asked.sent_bytes == before:
            one = reading.next()
            assert one[0] == "text", (one, before, asked.sent_bytes)
    assert asked.left.wait(PATIENCE_SECONDS)


def test_a_stream_delays_neither_a_hold_nor_the_end_of_its_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forever = 2 * PATIENCE_SECONDS
    monkeypatch.setattr(swap, "DRAIN_SECONDS", forever)

    async def main(vendor: Dripping) -> None:
        http = OutsideHttp(EgressPolicy(["127.0.0.1"]))
        files = {path: text.replace("URL", vendor.url) for path, text in FILES.items()}
        files["project.yaml"] = f"{small_project.FILES['project.yaml']}  MODEL_KEY: {{}}\n"
        door = Door(tmp_path, files, http)
        await door.publish(1)
        body = Body(b'{"prompt": "Hi"}')
        body.send()
        request = asyncio.create_task(door.fetch("/ask", method="POST", body=body))
        asked = await asyncio.to_thread(vendor.next)
        asked.say("a")
        await eventually(lambda: not door.live.in_flight)
        async with patience():
            await door.live.hold(seconds=forever, drain_seconds=forever)
            await door.publish(2)
            await door.live.drain()
        assert not request.done()
        asked.end()
        status, headers, events = await request
        assert (status, headers["x-release"]) == (200, "r1")
        assert b'data: {"text":"a"}' in events
        assert b"event: done" in events
        await door.directory.close()
        await http.close()

    with Dripping() as vendor:
        asyncio.run(main(vendor))


def test_a_release_meanwhile_cuts_nothing(shop: Shop) -> None:
    with shop.asking() as reading:
        asked = shop.vendor.next()
        asked.say("a")
        assert reading.next() == ("text", {"text": "a"})
        more = "text }\n  more: { type: text, nullable: true }"
        shop.served.edit("tables/prompts.yaml", "text }", more)
        commit = shop.served.commit()
        assert shop.served.live_of(commit)
        asked.say("b")
        assert reading.next() == ("text", {"text": "b"})
        asked.end()
        assert reading.rest()[-1][0] == "done"


def test_a_stop_of_the_server_ends_it_with_an_error(shop: Shop) -> None:
    with shop.asking() as reading:
        asked = shop.vendor.next()
        asked.say("a")
        assert reading.next() == ("text", {"text": "a"})
        stopping = threading.Thread(target=shop.served.stop)
        stopping.start()
        ((name, error),) = reading.rest()
        assert (name, error["code"]) == ("error", "serverStops")
        assert error["requestId"] == reading.response.headers["x-request-id"]
        stopping.join()
    assert asked.left.wait(PATIENCE_SECONDS)


def test_the_time_of_the_endpoint_counts(shop: Shop) -> None:
    with shop.asking("/hurry") as reading:
        asked = shop.vendor.next()
        asked.say("a")
        assert reading.next() == ("text", {"text": "a"})
        ((name, error),) = reading.rest()
        assert (name, error["code"], error["message"]) == ("error", "timeout", "it took too long")
    assert asked.left.wait(PATIENCE_SECONDS)


def test_a_secret_in_two_pieces_is_masked_in_the_history(shop: Shop) -> None:
    with shop.asking() as reading:
        asked = shop.vendor.next()
        for text in ("the key is ", KEY[:12], KEY[12:], ", keep it"):
            asked.say(text)
            reading.next()
        asked.end()
        reading.rest()
    wait_for(lambda: any("/ask" in str(one) for one in shop.history()))
    (one,) = [one for one in shop.history() if "/ask" in str(one)]
    assert "the key is ***, keep it" in str(one)
    for path in shop.served.home.rglob("*"):
        if path.is_file():
            assert KEY[12:].encode() not in path.read_bytes(), path
    assert KEY[12:] not in str(one)


def test_a_vendor_that_breaks_off_is_logged_with_its_step(shop: Shop) -> None:
    with shop.asking() as reading:
        asked = shop.vendor.next()
        asked.say("a")
        asked.put('data: {"error": {"message": "too much"}}\n\n', None)
        assert [name for name, _ in reading.rest()] == ["text", "error"]
    wait_for(lambda: "too much" in (shop.served.home / "log").read_text())
    assert "functions/ask.yaml:6" in (shop.served.home / "log").read_text()


def test_streams_have_a_limit_of_their_own(shop: Shop) -> None:
    """As many as may be open are; another one is refused, and other requests are answered."""
    from bbops_server.process.host.http import MAX_OPEN  # noqa: PLC0415

    clients, responses = [], []
    limits = httpx.Limits(max_connections=None)
    client = httpx.Client(
        base_url=shop.served.api.base_url, timeout=PATIENCE_SECONDS, limits=limits
    )
    try:
        statuses = []
        for _ in range(2 * MAX_OPEN + 10):
            request = client.build_request("POST", "/ask", json={"prompt": "Hi"})
            response = client.send(request, stream=True)
            responses.append(response)
            statuses.append(response.status_code)
            if response.status_code == 503:
                break
        assert statuses[-1] == 503
        assert responses[-1].headers["retry-after"] == "1"
        assert shop.served.api.get("/count").status_code == 200
    finally:
        for one in responses:
            one.close()
        client.close()
        del clients
