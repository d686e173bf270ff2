"""Answers that a client has already are not sent again, and large texts are packed for who asks."""

from __future__ import annotations

import asyncio
import gzip
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from bbops.compiler.testing.client import Client, Reply
from bbops.runtime.http.headers import SMALL_BYTES
from tests.conftest import Serving, run
from tests.support.raw_requests import Ask, routes, talk

GZIP = {"accept-encoding": "gzip, deflate, br"}


def large(size: int = 5_000, more: str = "", kind: str = "") -> str:
    """Return a function that answers a text of a size, in JSON with two quotes around it."""
    typed = f"contentType: {kind}, " if kind else ""
    return f"steps:\n  - return: {{ {typed}value: {'a' * size}{more} }}\n"


FILES = routes(
    "GET /large large None", "POST /large large None", "GET /small small None",
    "GET /own own None", "GET /cookie cookie None", "GET /image image None",
    "GET /missing missing None", "GET /huge huge None", "GET /kept kept None",
    large=large(), huge=large(200_000), small="steps:\n  - return: { value: 1 }\n",
    own=large(more=", headers: { etag: '\"mine\"' }"),
    kept=large(more=", headers: { cache-control: no-transform }"),
    cookie=large(more=", headers: { set-cookie: a=1 }"), image=large(kind="image/png"),
    missing=large(more=", status: 404"),
)  # fmt: skip


def asked(serving: Serving, *requests: tuple[str, str, dict[str, str]]) -> list[Reply]:
    async def tell(client: Client) -> list[Reply]:
        return [await client.ask(method, path, headers=given) for method, path, given in requests]

    found: list[Reply] = talk(serving, FILES, tell)
    return found


def get(path: str = "/large", **headers: str) -> tuple[str, str, dict[str, str]]:
    return "GET", path, {name.replace("_", "-"): value for name, value in headers.items()}


# ---- conditional requests
def test_what_a_client_has_is_not_sent_again(serving: Serving) -> None:
    async def tell(client: Client) -> None:
        first = await client.ask("GET", "/large")
        tag = first.headers["etag"]
        assert tag.startswith('W/"')
        for known in (tag, f'"x", {tag}', tag.removeprefix("W/"), "*"):
            again = await client.ask("GET", "/large", headers={"if-none-match": known})
            assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
            assert "content-length" not in again.headers
            assert "content-type" not in again.headers
        other = await client.ask("GET", "/large", headers={"if-none-match": 'W/"other"'})
        assert (other.status, other.body) == (200, first.body)

    talk(serving, FILES, tell)


def test_packed_or_not_it_is_the_same_answer(serving: Serving) -> None:
    plain, packed, head = asked(serving, get(), get(accept_encoding="gzip"), ("HEAD", "/large", {}))
    assert plain.headers["etag"] == packed.headers["etag"] == head.headers["etag"]
    assert head.headers["content-length"] == plain.headers["content-length"]


def test_only_large_answers_of_success_to_get_have_a_tag(serving: Serving) -> None:
    found = asked(serving, get("/small"), ("POST", "/large", {}), get("/missing"))
    assert ["etag" in one.headers for one in found] == [False] * 3
    changed = asked(serving, ("POST", "/large", {"if-none-match": "*"}))
    assert changed[0].status == 200


def test_a_tag_of_the_function_counts(serving: Serving) -> None:
    same, other = asked(
        serving, get("/own", if_none_match='"mine"'), get("/own", if_none_match='"a"')
    )
    assert (same.status, same.headers["etag"]) == (304, '"mine"')
    assert (other.status, other.headers["etag"]) == (200, '"mine"')


# ---- gzip
def test_a_large_text_is_packed_for_who_asks(serving: Serving) -> None:
    plain, packed = asked(serving, get(), get(**{"accept-encoding": "gzip, br"}))
    assert gzip.decompress(packed.body) == plain.body
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) == len(packed.body) < len(plain.body) / 5
    assert plain.headers["vary"] == packed.headers["vary"] == "accept-encoding"
    assert "content-encoding" not in plain.headers


@pytest.mark.parametrize(
    ("accepts", "is_packed"),
    [("gzip", True), ("GZIP", True), ("*", True), ("br, gzip;q=0.1", True), ("gzip;q=0", False),
     ("gzip; q=0.0", False), ("*;q=0", False), ("gzip;q=0, *", False), ("identity", False),
     ("br", False), ("", False), ("xgzipx", False), (",;=,", False)],
)  # fmt: skip
def test_accept_encoding_is_read_as_it_says(accepts: str, is_packed: bool, ask: Ask) -> None:
    reply = ask(FILES, "GET", "/large", headers={"accept-encoding": accepts})
    assert ("content-encoding" in reply.headers) is is_packed


@pytest.mark.parametrize("path", ["/small", "/cookie", "/image", "/kept"])
def test_what_must_or_need_not_be_packed_is_not(path: str, ask: Ask) -> None:
    reply = ask(FILES, "GET", path, headers=GZIP)
    assert reply.status == 200
    assert "content-encoding" not in reply.headers


class Counting(ThreadPoolExecutor):
    """The threads beside an event loop; `given` is how often it handed them something."""

    given = 0

    def submit(self, *given: Any, **more: Any) -> Any:
        self.given += 1
        return super().submit(*given, **more)


@pytest.mark.parametrize(("path", "handed_on"), [("/huge", 1), ("/large", 0)])
def test_a_huge_answer_is_packed_beside_the_event_loop(
    serving: Serving, path: str, handed_on: int
) -> None:
    async def tell(client: Client) -> None:
        threads = Counting(1)
        asyncio.get_running_loop().set_default_executor(threads)
        reply = await client.ask("GET", path, headers=GZIP)
        assert reply.headers["content-encoding"] == "gzip"
        assert len(gzip.decompress(reply.body)) == {"/huge": 200_002, "/large": 5_002}[path]
        assert threads.given == handed_on

    talk(serving, FILES, tell)


def test_what_is_packed_is_whole_whatever_its_size(serving: Serving) -> None:
    sizes = [SMALL_BYTES - 3, SMALL_BYTES - 2, SMALL_BYTES - 1, 70_000]
    files: dict[str, Any] = routes(
        *(f"GET /s{size} s{size} None" for size in sizes),
        **{f"s{size}": large(size) for size in sizes},
    )

    async def whole() -> None:
        async with serving(files) as client:
            for size in sizes:
                reply = await client.ask("GET", f"/s{size}", headers=GZIP)
                is_packed = "content-encoding" in reply.headers
                body = gzip.decompress(reply.body) if is_packed else reply.body
                assert len(body) == size + 2
                assert is_packed is (len(body) > SMALL_BYTES)

    run(whole())
