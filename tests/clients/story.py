"""What somebody who writes a program does with the client; run by Python, checked by mypy."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from client import (
    ApiError,
    AsyncClient,
    AsyncConnection,
    AsyncTopics,
    Client,
    Connection,
    Forbidden,
    InvalidRequest,
    NotFound,
    Tokens,
    Topics,
    Unauthorized,
    WebhookError,
    Webhooks,
)


def tell(base_url: str) -> None:
    with Connection(base_url) as connection:
        api = Client(connection)
        with pytest.raises(Unauthorized) as failed:
            api.notes.list()
        error = failed.value
        assert (error.status, error.code, error.operation) == (401, "unauthorized", "notes.list")
        api.auth.register({"email": "bob@example.com", "password": "correct horse"})
        made = api.notes.create({"title": "Buy milk & <tea>?", "tag": "home"})
        title: str = made["title"]
        second = api.notes.create({"title": "ß ✓ 🦊"})["id"]
        assert len(api.notes.list(tag=["home", "work"], limit=5)["notes"]) == 1
        assert api.notes.list(only_tagged=False)["notes"][0]["title"] == title
        first = made["id"]
        assert [one["id"] for one in api.notes.list(id=first)["notes"]] == [first]
        assert [one["id"] for one in api.notes.list(id={"lt": second})["notes"]] == [first]
        picked = api.notes.list(id={"in": [first, second], "eq": second})["notes"]
        assert [one["id"] for one in picked] == [second]
        for content in (b"\0\xff\n", b'{"a": 1}', b"text"):
            back: bytes = api.notes.echo({"picture": ("a.txt", content)})
            assert back == content
        assert api.notes.export_all() == f"{title},ß ✓ 🦊"
        with pytest.raises(NotFound) as missing:
            api.notes.get(999_999)
        assert missing.value.body == {"missing": 999_999}
        with pytest.raises(InvalidRequest) as wrong:
            api.notes.create({"title": ""})
        assert list(wrong.value.fields) == ["title"]

        kept = connection.tokens
        assert kept is not None
        connection.tokens = Tokens("gone", kept.refresh_token)
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(api.notes.get, [made["id"]] * 4))
        assert {one["id"] for one in found} == {made["id"]}
        assert connection.tokens is not None
        assert connection.tokens.refresh_token != kept.refresh_token

        key = api.auth.key()["key"]
        with Connection(base_url, api_key=key) as machine:
            assert Client(machine).notes.count()["notes"] >= 2
        listen(base_url, connection)
        sum_up(api)
        api.notes.delete(second)
        asyncio.run(tell_async(base_url, connection.tokens))
        api.auth.logout({"refreshToken": connection.tokens.refresh_token or ""})
        assert connection.tokens is None
        with pytest.raises((Forbidden, Unauthorized)) as refused:
            api.auth.login({"email": "bob@example.com", "password": "wrong"})
        assert str(refused.value) == "Wrong email or password"


def listen(base_url: str, connection: Connection) -> None:
    """Read a topic, also across a cut: what was missed comes."""
    api, heard = Client(connection), list[str]()
    opens, resets = list[str](), list[str]()

    def on_open() -> None:
        opens.append("open")
        if len(opens) == 1:
            api.notes.create({"title": "heard", "tag": "work"})

    reset = lambda: resets.append("reset")  # noqa: E731 - as short as it is
    for message in Topics(connection).written_notes("work", on_open=on_open, on_reset=reset):
        if message["event"] == "note.counted":
            raise AssertionError(message["payload"]["notes"])
        heard.append(message["payload"]["title"])
        if len(heard) == 2:
            break
        httpx.post(f"{base_url}/cut")
        api.notes.create({"title": "missed", "tag": "work"})
    assert (heard, len(opens), resets) == (["heard", "missed"], 2, [])
    with Connection(base_url) as nobody, pytest.raises(Unauthorized):
        next(Topics(nobody).note_rows("nobody"))


def verify() -> None:
    key = b"a secret of twenty-four b"
    secret, body, now = (
        "whsec_" + base64.b64encode(key).decode(),
        b'{"type": "note.gone"}',
        time.time(),
    )
    at = str(int(now))
    digest = hmac.digest(key, f"msg_1.{at}.".encode() + body, hashlib.sha256)
    signature = f"v1,AAAA v1,{base64.b64encode(digest).decode()}"
    headers = {"Webhook-Id": "msg_1", "webhook-timestamp": at, "webhook-signature": signature}
    found = Webhooks.partner_hook(["whsec_AAAA", secret], headers, body)
    assert found["type"] == "note.gone"
    for changed in (headers | {"Webhook-Id": "msg_2"}, headers | {"webhook-timestamp": "1"}, {}):
        with pytest.raises(WebhookError):
            Webhooks.partner_hook(secret, changed, body)


def sum_up(api: Client) -> None:
    """Read an answer that goes on event by event; an error is raised."""
    texts, model = [], ""
    for one in api.notes.sum_up({"question": "What?"}):
        if one["event"] == "text":
            texts.append(one["data"]["text"])
        else:
            model = str(one["data"])
    assert texts == ["Hé", "llo\n", "🌍"]
    assert "'model': 'm'" in model
    kinds = []
    with pytest.raises(ApiError) as broken:
        kinds += [one["event"] for one in api.notes.sum_up({"question": "break"})]
    assert broken.value.code == "serverError"
    assert broken.value.request_id
    assert [one["event"] for one in api.notes.sum_up({"question": ""})] == ["done"]
    with pytest.raises(InvalidRequest):
        next(api.notes.sum_up({"question": 5}))  # type: ignore[typeddict-item]


async def sum_up_async(api: AsyncClient) -> None:
    """The same for one event loop."""
    found = [one["event"] async for one in api.notes.sum_up({"question": "What?"})]
    assert found == ["text", "text", "text", "done"]


async def listen_async(connection: AsyncConnection, base_url: str) -> None:
    """Read a topic in a task, until that is cancelled."""
    heard = asyncio.Event()

    async def read() -> None:
        async for message in AsyncTopics(connection).written_notes("home"):
            assert message["event"] == "note.written"
            heard.set()

    reading = asyncio.create_task(read())
    while not heard.is_set():
        await AsyncClient(connection).notes.create({"title": "again", "tag": "home"})
        await asyncio.sleep(0.1)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)


async def tell_async(base_url: str, tokens: Tokens) -> None:
    async with AsyncConnection(base_url, tokens=Tokens(tokens.token)) as connection:
        api = AsyncClient(connection)
        each = await asyncio.gather(*(api.notes.list() for _ in range(5)))
        assert len({str(one) for one in each}) == 1
        await listen_async(connection, base_url)
        await sum_up_async(api)
        connection.tokens = None
        with pytest.raises(ApiError) as unknown:
            await api.notes.list()
        assert unknown.value.status == 401


verify()
tell(sys.argv[1])
print("done")
