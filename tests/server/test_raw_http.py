"""Bytes that no client should send: one answer or none, and the next client is served.

A proxy in front must never see other requests in the same bytes than this server does.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.patience import wait_for
from tests.support.raw import (
    HELLO,
    LAST,
    NOTE,
    Answer,
    chunked,
    connect,
    head,
    post,
    read_all,
    read_answer,
    send,
)
from tests.support.running import Running, get

SEED = 20261121
FUZZED = 400


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running(tmp_path_factory.mktemp("raw"), 1)
    yield running
    running.close()


@pytest.fixture(autouse=True)
def serves_on_and_logs_nothing(server: Running) -> Iterator[None]:
    yield
    (answer,) = send(server.url, LAST)
    assert answer.body == b'{"text":"hello","version":1}'
    assert Path(server.log.name).read_text() == ""


def written(server: Running) -> int:
    return len(get(f"{server.url}/notes").json())


LENGTHS = [
    "+14",
    "-14",
    "0xe",
    "14 14",
    "14, 14",
    "",
    "9" * 30,
    "18446744073709551630",
    "14;",
    "1e1",
]
CODINGS = [
    "xchunked", "chunkedx", "chunked, chunked", "gzip, chunked", "chunked, identity", "identity",
    "\x0bchunked", '"chunked"', "chunked;q=1", ",chunked", "chunked,", "x,chunked", "",
]  # fmt: skip
CHUNKS = [
    b"e\n{}\r\n0\r\n\r\n", b"2\r\n{}\n0\r\n\r\n", b"2 \r\n{}\r\n0\r\n\r\n",
    b"2;\r\n{}\r\n0\r\n\r\n",
    b"2;a\n\r\n{}\r\n0\r\n\r\n", b"-2\r\n{}\r\n0\r\n\r\n", b"0x2\r\n{}\r\n0\r\n\r\n",
    b"+2\r\n{}\r\n0\r\n\r\n", b"f" * 17 + b"\r\n{}\r\n0\r\n\r\n", b"g\r\n{}", b"\r\n{}",
    b"2\r\n{}}}\r\n0\r\n\r\n", b"2\r{}\r\n0\r\n\r\n", b"2\r\n{}\r\n0\n\n",
    b"2\r\n{}\r\n0\r\nbad trailer\r\n\r\n", b"2\r\n{}\r\n0\r\n x: y\r\n\r\n",
    b'2;a="b\r\n"\r\n{}\r\n0\r\n\r\n', b"2\r\n{}\r\n0\r\nTransfer-Encoding: x\r\n\r\n",
]  # fmt: skip
FRAMING = {
    **{f"length {value!r}": post(f"Content-Length: {value}", body=NOTE) for value in LENGTHS},
    **{
        f"coding {value!r}": post(f"Transfer-Encoding: {value}", body=b"0\r\n\r\n")
        for value in CODINGS
    },
    **{f"chunk {body!r}": chunked(body) for body in CHUNKS},
    "two lengths": post("Content-Length: 14", "Content-Length: 15", body=NOTE),
    "a length twice": post("Content-Length: 14", "Content-Length: 14", body=NOTE),
    "length, then coding": post("Content-Length: 14", "Transfer-Encoding: chunked", body=NOTE),
    "coding, then length": post("Transfer-Encoding: chunked", "Content-Length: 14", body=NOTE),
    "a coding twice": post(*["Transfer-Encoding: chunked"] * 2, body=b"0\r\n\r\n"),
    "two codings": post(
        "Transfer-Encoding: identity", "Transfer-Encoding: chunked", body=b"0\r\n\r\n"
    ),
    "a coding in HTTP/1.0": head("POST /notes HTTP/1.0", "Transfer-Encoding: chunked")
    + b"0\r\n\r\n",
    "a folded coding": post("Transfer-Encoding:\r\n chunked", body=b"0\r\n\r\n"),
    "a coding with a space": post("Transfer-Encoding : chunked", body=b"0\r\n\r\n"),
}


@pytest.mark.parametrize("name", FRAMING)
def test_a_body_that_can_be_framed_in_two_ways_is_refused(server: Running, name: str) -> None:
    before = written(server)
    (answer,) = send(server.url, FRAMING[name] + LAST)
    assert answer.status == 400
    assert answer.headers["connection"] == "close"
    assert written(server) == before


CONTROLS = ["\0", "\r", "\n", "\x0b", "\x7f"]
HEADS = {
    **{f"{one!r} in a name": head("GET /hello HTTP/1.1", f"X{one}Y: a") for one in CONTROLS},
    **{f"{one!r} in a value": head("GET /hello HTTP/1.1", f"X: a{one}b") for one in CONTROLS},
    "folded": head("GET /hello HTTP/1.1", "X: a\r\n b"),
    "folded at once": b"GET /hello HTTP/1.1\r\n Host: a\r\n\r\n",
    "space before colon": head("GET /hello HTTP/1.1", "X : a"),
    "no colon": head("GET /hello HTTP/1.1", "X"),
    "no name": head("GET /hello HTTP/1.1", ": a"),
    "line feeds": b"GET /hello HTTP/1.1\nHost: a\n\n",
    "one line feed": b"GET /hello HTTP/1.1\r\nHost: a\nX: y\r\n\r\n",
    "line feed at the end": b"GET /hello HTTP/1.1\r\nHost: a\r\n\n",
    "carriage returns": b"GET /hello HTTP/1.1\rHost: a\r\r",
    "two hosts": head("GET /hello HTTP/1.1", "Host: b"),
    "no host": head("GET /hello HTTP/1.1", host=""),
    "no host in HTTP/1.0": head("GET /hello HTTP/1.0", host=""),
    "unknown method": head("FOO /hello HTTP/1.1"),
    "small method": head("get /hello HTTP/1.1"),
    "connect": head("CONNECT a:443 HTTP/1.1"),
    "connect to a path": head("CONNECT /hello HTTP/1.1"),
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0",
    "HTTP/2 in a line": head("GET /hello HTTP/2.0"),
    "HTTP/0.9": b"GET /hello\r\n\r\n",
    "HTTP/0.9 said": head("GET /hello HTTP/0.9"),
    "HTTP/1.2": head("GET /hello HTTP/1.2"),
    "HTTP/1.10": head("GET /hello HTTP/1.10"),
    "http": head("GET /hello http/1.1"),
    "tabs": head("GET\t/hello\tHTTP/1.1"),
    "TLS": bytes.fromhex("16030100f0010000ec0303") + b"\1" * 230,
    "all bytes": bytes(range(256)) * 4,
    "20,000 headers": head("GET /hello HTTP/1.1", *["a: b"] * 20_000),
    "a header of 1 MB": head("GET /hello HTTP/1.1", "X: " + "a" * (1 << 20)),
    "a line of 1 MB": head(f"GET /{'a' * (1 << 20)} HTTP/1.1"),
    **{
        f"target {one!r}": head(f"GET {one} HTTP/1.1")
        for one in (
            "", "a", "a:80", "*", "?x", "/\xff", "/a?\xff", "/a\0", "/a\tb", "/a b", "/a#b",
            "/a?b#c", "http://evil/hello", "http://a@evil/hello", "http://evil@a/hello",
            "http://evil", "ftp://a/hello", "http://a:99999/hello", "http://[::1/hello",
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("name", HEADS)
def test_a_head_that_is_none_is_refused_and_what_follows_is_not_read(
    server: Running, name: str
) -> None:
    told = send(server.url, HEADS[name] + HELLO)
    assert len(told) <= 1
    assert all(answer.status in {400, 431} for answer in told)
    assert told or len(HEADS[name]) > 1 << 17  # it was reset while it still sent


ODD = {
    "//hello": 404, "/hello/": 404, "/../hello": 404, "/x/../hello": 404, "/./hello": 404,
    "/hello%": 404, "/%": 404, "/%zz": 404, "/%00": 404, "/hello%00": 404, "/hello%2f": 404,
    "/%2fhello": 404, "/%c0%af": 404, "/%ff": 404, "/\\hello": 404, "/hello;a=b": 404,
    "/%68ello": 200, "/hello?%": 200, "/hello?a=%ff": 200, "http://a/hello": 200,
}  # fmt: skip


@pytest.mark.parametrize("target", ODD)
def test_an_odd_path_is_one_path_and_never_another_file(server: Running, target: str) -> None:
    (answer,) = send(server.url, head(f"GET {target} HTTP/1.1", "Connection: close"))
    assert answer.status in {ODD[target], 400} - ({400} if ODD[target] == 200 else set())


@pytest.mark.parametrize("method", ["TRACE", "PURGE", "SOURCE", "M-SEARCH", "PROPFIND", "QUERY"])
def test_a_method_that_a_route_does_not_have_is_405(server: Running, method: str) -> None:
    first, last = send(server.url, head(f"{method} /hello HTTP/1.1") + LAST)
    assert (first.status, last.status) == (405, 200)


@pytest.mark.parametrize("count", [1, 2, 1_000])
def test_pipelined_requests_are_answered_in_order(server: Running, count: int) -> None:
    paths = ["/hello" if number % 3 else f"/nothing{number}" for number in range(count)]
    told = send(server.url, b"".join(head(f"GET {one} HTTP/1.1") for one in paths) + LAST)
    assert [answer.status for answer in told] == [
        *(200 if one == "/hello" else 404 for one in paths), 200
    ]  # fmt: skip


def test_too_many_pipelined_requests_end_the_connection_with_the_last_answer(
    server: Running,
) -> None:
    told = send(server.url, HELLO * 3_000)
    assert [answer.status for answer in told[:-1]] == [200] * (len(told) - 1)
    assert told[-1].status == 503
    assert len(told) > 1_000


def test_a_request_inside_a_body_is_a_body(server: Running) -> None:
    inner = head("GET /slow HTTP/1.1")
    for path, status in (("/notes", 400), ("/hello", 405)):
        asked = head(f"POST {path} HTTP/1.1", f"Content-Length: {len(inner)}") + inner
        first, last = send(server.url, asked + LAST)
        assert (first.status, last.status) == (status, 200)
    framed = b"%x\r\n%s\r\n0\r\n\r\n" % (len(inner), inner)
    first, last = send(server.url, chunked(framed) + LAST)
    assert (first.status, last.status) == (400, 200)


def test_trailers_do_not_become_headers(server: Running) -> None:
    body = b"%x;a=b\r\n%s\r\n0\r\nHost: evil\r\nContent-Type: x\r\n\r\n" % (len(NOTE), NOTE)
    first, last = send(server.url, chunked(body) + LAST)
    assert (first.status, last.status) == (201, 200)


UPGRADES = {
    "h2c": ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQ"],
    "websocket": [
        "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ],
    "nonsense": ["Connection: upgrade", "Upgrade: ?"],
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", UPGRADES)
def test_a_request_for_another_protocol_is_answered_as_if_it_had_not_asked(
    server: Running, name: str
) -> None:
    lines = UPGRADES[name]
    asked = head("GET /hello HTTP/1.1", *lines)
    asked += post(*lines, f"Content-Length: {len(NOTE)}", body=NOTE)
    asked += head("GET /slow HTTP/1.1", *lines) + head("GET /nothing HTTP/1.1", *lines)
    told = send(server.url, asked + LAST)
    assert [answer.status for answer in told] == [200, 201, 200, 404, 200]


def test_a_large_body_of_such_a_request_is_no_head(server: Running) -> None:
    note = b'{"title": "x"%s}' % (b" " * 600_000)
    asked = post(*UPGRADES["h2c"], f"Content-Length: {len(note)}", body=note)
    assert [answer.status for answer in send(server.url, asked + LAST)] == [201, 200]


def test_many_such_requests_are_as_good_as_one(server: Running) -> None:
    asked = head("GET /hello HTTP/1.1", *UPGRADES["h2c"]) * 900
    told = send(server.url, asked + LAST)
    assert [answer.status for answer in told] == [200] * 901


def test_what_follows_connection_close_is_not_read(server: Running) -> None:
    assert len(send(server.url, LAST + HELLO)) == 1


@pytest.mark.long
def test_what_is_wrong_behind_a_slow_request_is_not_its_answer(server: Running) -> None:
    slow = head("GET /slow HTTP/1.1")
    told = send(server.url, slow + HELLO + b"nonsense\r\n\r\n")
    assert [answer.status for answer in told] == [200, 200, 400]
    told = send(server.url, slow + HELLO + chunked(b"nonsense"))
    assert [answer.status for answer in told] == [200, 200, 400]


def test_a_request_that_is_answered_gets_no_second_answer(server: Running) -> None:
    with connect(server.url) as connection:
        connection.sendall(head("POST /hello HTTP/1.1", "Transfer-Encoding: chunked"))
        assert read_answer(connection).status == 405
        connection.sendall(b"nonsense\r\n")
        assert read_all(connection) == b""


@pytest.mark.long
def test_a_client_that_leaves_amid_pipelined_requests_is_forgotten(server: Running) -> None:
    with connect(server.url) as connection:
        connection.sendall(head("GET /slow HTTP/1.1") * 5 + HELLO * 10)
        wait_for(server.is_asked)
    wait_for(lambda: not server.is_asked())


@pytest.mark.parametrize("part", [b"GET", HELLO[:-4], post("Content-Length: 14", body=b"{")])
def test_a_client_that_stops_halfway_gets_no_answer(server: Running, part: bytes) -> None:
    before = written(server)
    assert send(server.url, part, leaves=True) == []
    assert written(server) == before


@pytest.mark.parametrize("piece", [b"A: b\r\n", b"1;" + b"a" * 60_000 + b"\r\nx\r\n"])
def test_what_frames_a_body_cannot_go_on_for_ever(server: Running, piece: bytes) -> None:
    start = chunked(b"0\r\n" if piece.startswith(b"A") else b"")
    told = send(server.url, start + piece * (2_000_000 // len(piece)))
    assert [answer.status for answer in told] in ([400], [413], [])


def test_a_body_after_its_answer_cannot_go_on_for_ever(server: Running) -> None:
    asked = head("POST /hello HTTP/1.1", "Content-Length: 100000000")
    with connect(server.url) as connection:
        connection.sendall(asked)
        assert read_answer(connection).status == 405
        with pytest.raises(ConnectionError):
            connection.sendall(b"x" * 100_000_000)


def test_mutated_requests_do_no_harm(server: Running) -> None:
    chance, told = random.Random(SEED), list[Answer]()
    seeds = [
        HELLO, post(f"Content-Length: {len(NOTE)}", body=NOTE),
        chunked(b"e\r\n" + NOTE + b"\r\n0\r\nX: y\r\n\r\n"),
        head("GET /hello?a=b HTTP/1.1", *UPGRADES["h2c"]), *FRAMING.values(),
    ]  # fmt: skip
    for _ in range(FUZZED):
        data = b"".join(chance.choices(seeds, k=chance.randint(1, 3)))
        found = send(server.url, mutate(chance, data), leaves=True)
        assert len(found) <= data.count(b"HTTP/") + 1
        told += found
    assert {answer.status for answer in told} <= {200, 201, 400, 404, 405, 413, 431, 505}
    assert {200, 201, 400} <= {answer.status for answer in told}


def mutate(chance: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randint(0, 4)):
        at = chance.randrange(len(changed))
        kind = chance.randrange(4)
        if kind == 0:
            changed[at] = chance.randrange(256)
        elif kind == 1:
            del changed[at : at + chance.randint(1, 8)]
        elif kind == 2:
            changed[at:at] = chance.choice([b"\r\n", b"\n", b"\0", b" ", b"0", b"chunked", b":"])
        else:
            changed[at:at] = changed[max(0, at - 20) : at]
    return bytes(changed)
