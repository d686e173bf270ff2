"""What somebody who writes a program does with the client; run by Python, checked by mypy."""

from __future__ import annotations

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from client import (
    ApiError,
    AsyncClient,
    AsyncConnection,
    Client,
    Connection,
    Forbidden,
    InvalidRequest,
    NotFound,
    Tokens,
    Unauthorized,
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
        api.notes.delete(second)
        asyncio.run(tell_async(base_url, connection.tokens))
        api.auth.logout({"refreshToken": connection.tokens.refresh_token or ""})
        assert connection.tokens is None
        with pytest.raises((Forbidden, Unauthorized)) as refused:
            api.auth.login({"email": "bob@example.com", "password": "wrong"})
        assert str(refused.value) == "Wrong email or password"


async def tell_async(base_url: str, tokens: Tokens) -> None:
    async with AsyncConnection(base_url, tokens=Tokens(tokens.token)) as connection:
        api = AsyncClient(connection)
        each = await asyncio.gather(*(api.notes.list() for _ in range(5)))
        assert len({str(one) for one in each}) == 1
        connection.tokens = None
        with pytest.raises(ApiError) as unknown:
            await api.notes.list()
        assert unknown.value.status == 401


tell(sys.argv[1])
print("done")
