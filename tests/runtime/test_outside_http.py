"""The door to other servers: what it asks, what it never asks, and what comes back."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import Awaitable, Callable
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bbops.base.host import HttpRequest, HttpResponse
from bbops.runtime.values.failures import HttpFailure
from bbops_server.process.host.egress import SPECIAL_NETWORKS, TRANSLATED, EgressPolicy, is_public
from bbops_server.process.host.http import MAX_BODY_BYTES, OutsideHttp

Answer = Callable[[str], bytes]
HERE = EgressPolicy(["127.0.0.1"])


def plain(body: bytes, head: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {head}", f"content-length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def asking(answer: Answer, work: Callable[[OutsideHttp, str, list[str]], Awaitable[Any]],
           egress: EgressPolicy = HERE) -> Any:  # fmt: skip
    """Run `work` beside a server that answers by the first line of a request."""
    heard: list[str] = []
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode("latin-1"):
                heard.append(head)
                writer.write(answer(head.split(" ")[1]))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass

    async def main() -> Any:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        door = OutsideHttp(egress)
        try:
            return await work(door, f"http://127.0.0.1:{port}", heard)
        finally:
            await door.close()
            server.close()
            for writer in writers:
                writer.close()
            await asyncio.sleep(0.01)

    return asyncio.run(main())


def get(url: str, timeout: float = 5.0, **headers: str) -> HttpRequest:
    return HttpRequest("GET", url, headers, b"", timeout)


async def code(door: OutsideHttp, request: HttpRequest) -> str:
    with pytest.raises(HttpFailure) as raised:
        await door.send(request)
    return raised.value.code


def test_headers_are_sent_as_latin_1_or_utf_8() -> None:
    async def work(door: OutsideHttp, url: str, heard: list[str]) -> list[str]:
        await door.send(get(url, latin="Zoë", more="Zoë €"))
        return heard

    (head,) = asking(lambda _: plain(b""), work)
    sent = head.encode("latin-1")
    assert "\r\nlatin: Zoë\r\n".encode("latin-1") in sent
    assert "\r\nmore: Zoë €\r\n".encode() in sent


def test_an_answer_comes_back_whole() -> None:
    async def work(door: OutsideHttp, url: str, heard: list[str]) -> HttpResponse:
        return await door.send(get(f"{url}/ä b?q=1", accept="text/plain"))

    found = asking(lambda path: plain(path.encode(), "404 Not Found", "X-A: 1", "x-a: 2"), work)
    assert (found.status, found.body, found.headers["x-a"]) == (404, b"/%C3%A4%20b?q=1", "1, 2")


@pytest.mark.parametrize(("host", "port", "is_known"), [
    ("api.example.com", 443, True), ("api.example.com", 8443, False),
    ("API.example.com", 80, False), ("own.example.com", 8443, True),
    ("own.example.com", 443, False), ("named.example.com", 80, True),
    ("named.example.com", 443, True), ("named.example.com", 22, False),
    ("a.b.cdn.example.com", 443, True), ("cdn.example.com", 443, False),
    ("a.cdn.example.com", 80, False), ("::1", 9000, True), ("[::1]", 9000, True),
])  # fmt: skip
def test_a_draft_reaches_a_host_at_the_ports_that_are_meant(
    host: str, port: int, *, is_known: bool
) -> None:
    hosts = ("api.example.com:443", "own.example.com:8443", "named.example.com",
             "*.cdn.example.com:443", "::1:9000")  # fmt: skip
    assert EgressPolicy(only=hosts).knows(host, port) is is_known
    assert EgressPolicy().knows(host, port)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
        "0.0.0.0", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0",
        "fc00::1", "fd00:ec2::254", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1",
        "64:ff9b::7f00:1", "2002:7f00:1::", "2001:0:7f00:1::", "ff02::1",
        # not known to every Python that runs this, or taken for global by some
        "192.0.0.8", "192.0.0.192", "192.88.99.1", "fec0::1", "feff::1", "3fff::1", "3fff:fff::1",
        "5f00::1", "100::1", "64:ff9b:1::1", "64:ff9b::a9fe:a9fe", "::ffff:0:7f00:1", "4000::1",
        "2001:20::1", "2001:db8::1", "198.18.0.1", "192.0.2.1", "240.0.0.1",
    ],
)  # fmt: skip
def test_addresses_of_this_machine_and_network_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"],
)
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(("network", "source"), SPECIAL_NETWORKS)
def test_both_ends_of_each_network_of_the_table_are_refused(network: str, source: str) -> None:
    found = ip_network(network)
    assert not is_public(str(found[0]))
    assert not is_public(str(found[-1]))
    assert source.startswith("RFC ")


@given(address=st.ip_addresses())
def test_what_python_calls_private_is_never_public(address: IPv4Address | IPv6Address) -> None:
    wraps = isinstance(address, IPv6Address) and (address.ipv4_mapped or address in TRANSLATED)
    assume(not wraps)  # of those the wrapped address decides
    if address.is_private or address.is_multicast or address.is_reserved or address.is_link_local:
        assert not is_public(str(address))


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "[::1]", "localhost", "0"]
)
def test_this_machine_is_refused_however_it_is_spelt(host: str) -> None:
    async def work(door: OutsideHttp, url: str, heard: list[str]) -> tuple[str, list[str]]:
        return await code(door, get(f"http://{host}:{url.rpartition(':')[2]}/")), heard

    found, heard = asking(lambda _: plain(b"secret"), work, EgressPolicy())
    assert (found, heard) in [("httpRefused", []), ("httpUnreachable", [])]


def test_a_redirect_to_a_forbidden_address_is_refused() -> None:
    async def work(door: OutsideHttp, url: str, heard: list[str]) -> tuple[str, int]:
        found = await code(door, get(url))
        return found, len(heard)

    answer = plain(b"", "302 Found", "location: http://127.0.0.2/latest/meta-data")
    assert asking(lambda _: answer, work) == ("httpRefused", 1)


def test_a_name_is_looked_up_once_and_connected_to_where_it_was_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_up: list[str] = []

    async def work(door: OutsideHttp, url: str, heard: list[str]) -> int:
        port = int(url.rpartition(":")[2])

        async def rebind(host: str, *rest: Any, **named: Any) -> Any:
            looked_up.append(host)
            address = "127.0.0.1" if len(looked_up) == 1 else "10.0.0.1"
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", rebind)
        await door.send(get(f"http://rebinding.example:{port}/"))
        return len(heard)

    assert asking(lambda _: plain(b"a"), work) == 1
    assert looked_up[:1] == ["rebinding.example"]
    assert "rebinding.example" not in looked_up[1:]


KEYS = {"authorization": "k1", "x-api-key": "k2", "apikey": "k3", "x-shopify-access-token": "k4",
        "cookie": "k5", "idempotency-key": "k6"}  # fmt: skip


def test_a_redirect_to_another_server_takes_no_key_along() -> None:
    ports: list[str] = []

    async def work(door: OutsideHttp, url: str, heard: list[str]) -> list[str]:
        ports.append(url.rpartition(":")[2])
        sent = KEYS | {"accept-language": "de"}
        answer = await door.send(HttpRequest("POST", f"{url}/a", sent, b"x", 5))
        assert answer.body == b"end"
        return heard

    def answer(path: str) -> bytes:
        other = f"location: http://localhost:{ports[0]}/b"
        return plain(b"end") if path == "/b" else plain(b"", "302 Found", other)

    first, second = asking(answer, work)
    assert all(f"{name}: {key}" in first for name, key in KEYS.items())
    assert first.startswith("POST")
    assert not [name for name, key in KEYS.items() if name in second or key in second]
    assert second.startswith("GET /b")
    assert "accept-language: de" in second


@pytest.mark.parametrize(("host", "wanted"), [("127.0.0.1", 200), ("localhost", 302)])
def test_a_redirect_within_one_origin_is_followed_alone_where_that_is_asked(
    host: str, wanted: int
) -> None:
    ports: list[str] = []

    async def work(door: OutsideHttp, url: str, heard: list[str]) -> tuple[int, bool]:
        ports.append(url.rpartition(":")[2])
        request = replace(get(f"{url}/a", **KEYS), follows="same-origin")
        found = await door.send(request)
        return found.status, all("x-api-key: k2" in one for one in heard)

    def answer(path: str) -> bytes:
        other = f"location: http://{host}:{ports[0]}/b"
        return plain(b"end") if path == "/b" else plain(b"", "302 Found", other)

    assert asking(answer, work) == (wanted, True)


@pytest.mark.parametrize(
    ("method", "status", "body", "heard"),
    [
        ("POST", 307, b"secret", ["/a"]), ("PUT", 308, b"secret", ["/a"]),
        ("PUT", 302, b"secret", ["/a"]), ("POST", 303, b"secret", ["/a", "/b"]),
        ("DELETE", 307, b"", ["/a", "/b"]),
    ],
)  # fmt: skip
def test_a_body_is_for_the_origin_that_it_was_written_for(
    method: str, status: int, body: bytes, heard: list[str]
) -> None:
    ports: list[str] = []

    async def work(door: OutsideHttp, url: str, lines: list[str]) -> tuple[int, list[str]]:
        ports.append(url.rpartition(":")[2])
        found = await door.send(HttpRequest(method, f"{url}/a", {}, body, 5))
        return found.status, [one.split(" ")[1] for one in lines]

    def answer(path: str) -> bytes:
        other = f"location: http://localhost:{ports[0]}/b"
        return plain(b"end") if path == "/b" else plain(b"", f"{status} Moved", other)

    assert asking(answer, work) == (200 if "/b" in heard else status, heard)


def test_an_address_of_a_row_is_asked_by_rules_of_its_own() -> None:
    async def work(door: OutsideHttp, url: str, heard: list[str]) -> tuple[list[str], int]:
        request = get(f"{url}/a")
        await door.send(request)  # a connection is open now
        with pytest.raises(HttpFailure, match=r"'egress\.receivers' in server\.yaml") as raised:
            await door.send(replace(request, is_from_row=True))
        door.allow(EgressPolicy(), rows=HERE)
        await door.send(replace(request, is_from_row=True))
        other = await code(door, get(url.replace("127.0.0.1", "localhost")))
        return [raised.value.code, other], len(heard)

    assert asking(lambda _: plain(b"end"), work) == (["httpRefused", "httpRefused"], 2)


@pytest.mark.parametrize(
    ("answer", "code", "is_sent"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab", "httpTimeout", True),
        (b"", "httpTimeout", True), (b"nonsense\r\n\r\n", "httpUnreachable", True),
    ],
)  # fmt: skip
def test_a_request_without_an_answer_may_have_been_carried_out(
    answer: bytes, code: str, *, is_sent: bool
) -> None:
    async def work(door: OutsideHttp, url: str, heard: list[str]) -> tuple[str, bool]:
        with pytest.raises(HttpFailure) as raised:
            await door.send(get(url, 0.1))
        return raised.value.code, raised.value.is_sent

    assert asking(lambda _: answer, work) == (code, is_sent)


def test_nonsense_is_not_a_server_that_cannot_be_reached() -> None:
    async def work(door: OutsideHttp, url: str, heard: list[str]) -> str:
        with pytest.raises(HttpFailure) as raised:
            await door.send(get(url))
        return raised.value.message

    found = asking(lambda _: b"nonsense\r\n\r\n", work)
    assert found == "'127.0.0.1' gave no valid HTTP response"


def test_a_request_that_never_left_was_not_carried_out() -> None:
    async def work(door: OutsideHttp, _: str, heard: list[str]) -> tuple[str, bool]:
        with pytest.raises(HttpFailure) as raised:
            await door.send(get("http://127.0.0.1:1/"))
        return raised.value.code, raised.value.is_sent

    assert asking(lambda _: plain(b""), work) == ("httpUnreachable", False)


def test_redirects_come_to_an_end() -> None:
    async def work(door: OutsideHttp, url: str, heard: list[str]) -> tuple[str, int]:
        return await code(door, get(f"{url}/a")), len(heard)

    assert asking(lambda _: plain(b"", "302 Found", "location: /a"), work) == ("httpFailed", 6)


@pytest.mark.parametrize("packed", [False, True])
def test_an_answer_has_a_largest_size(packed: bool) -> None:
    body = b"x" * (MAX_BODY_BYTES + 1)
    answer = plain(gzip.compress(body), "200 OK", "content-encoding: gzip") if packed else (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + b"%x\r\n" % len(body) + body
    )  # fmt: skip

    async def work(door: OutsideHttp, url: str, heard: list[str]) -> str:
        return await code(door, get(url))

    assert asking(lambda _: answer, work) == "httpTooLarge"


def test_a_packed_answer_is_unpacked() -> None:
    async def work(door: OutsideHttp, url: str, heard: list[str]) -> bytes:
        return (await door.send(get(url))).body

    answer = plain(gzip.compress(b"hello"), "200 OK", "content-encoding: gzip")
    assert asking(lambda _: answer, work) == b"hello"


def test_a_silent_server_is_left_in_time() -> None:
    async def work(door: OutsideHttp, url: str, heard: list[str]) -> str:
        return await code(door, get(url, 0.05))

    assert asking(lambda _: b"HTTP/1.1 200", work) == "httpTimeout"


@pytest.mark.parametrize(
    ("url", "wanted"),
    [("ftp://a.example/", "httpInvalid"), ("http:///x", "httpInvalid"),
     ("http://user:pass@a.example/", "httpInvalid"), ("http://a.example:99999/", "httpInvalid"),
     ("http://[", "httpInvalid"), ("https://a:pass@\uff03", "httpInvalid"),
     ("file:///etc/passwd", "httpInvalid"), ("http://127.0.0.1:1/", "httpUnreachable")],
)  # fmt: skip
def test_what_cannot_be_asked_says_so(url: str, wanted: str) -> None:
    async def work(door: OutsideHttp, _: str, heard: list[str]) -> str:
        return await code(door, get(url))

    assert asking(lambda _: plain(b""), work) == wanted


def test_a_request_that_follows_nothing_gets_the_redirect() -> None:
    async def work(door: OutsideHttp, url: str, heard: list[str]) -> tuple[int, int]:
        found = await door.send(replace(get(url), follows="none"))
        return found.status, len(heard)

    assert asking(lambda _: plain(b"", "302 Found", "location: /b"), work) == (302, 1)


@pytest.mark.parametrize("size", [10, 1_024, MAX_BODY_BYTES + 1])
def test_an_answer_is_cut_where_only_its_begin_is_wanted(size: int) -> None:
    async def work(door: OutsideHttp, url: str, heard: list[str]) -> HttpResponse:
        return await door.send(replace(get(url), keeps_bytes=1_024))

    found = asking(lambda _: plain(b"a" * size), work)
    assert (found.status, found.body) == (200, b"a" * min(size, 1_024))


def test_what_is_cut_is_not_unpacked() -> None:
    async def work(door: OutsideHttp, url: str, heard: list[str]) -> HttpResponse:
        return await door.send(replace(get(url), keeps_bytes=20))

    packed = gzip.compress(b"a" * 100_000)
    assert asking(lambda _: plain(packed, "200 OK", "content-encoding: gzip"), work).status == 200
