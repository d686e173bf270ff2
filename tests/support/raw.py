"""Bytes to a server and back: what no HTTP client would send, and every answer that comes."""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.support.patience import PATIENCE_SECONDS


class Answer(NamedTuple):
    """One answer, as it came."""

    status: int
    headers: dict[str, str]
    body: bytes


def connect(url: str) -> socket.socket:
    """Return a connection to a server."""
    host, _, port = url.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS)


def send(url: str, data: bytes, *, leaves: bool = False) -> list[Answer]:
    """Return every answer until the server closes; it must, or this times out."""
    with connect(url) as connection:
        with contextlib.suppress(ConnectionError):  # it may have had enough before we are done
            connection.sendall(data)
            if leaves:
                connection.shutdown(socket.SHUT_WR)
        return list(answers(read_all(connection)))


def read_all(connection: socket.socket) -> bytes:
    """Return what comes until the end."""
    received = b""
    with contextlib.suppress(ConnectionError):
        while data := connection.recv(1 << 16):
            received += data
    return received


def unread_bytes(connection: socket.socket) -> int:
    """Return how many bytes the other side has not read yet; 0 once it has closed. Linux only."""
    ours, theirs = (f"{end[1]:04X}" for end in (connection.getsockname(), connection.getpeername()))
    unread = 0
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, remote, _, queues, *_ = line.split()
        unsent, received = (int(size, 16) for size in queues.split(":"))
        ends = local[-4:], remote[-4:]
        unread += unsent * (ends == (ours, theirs)) + received * (ends == (theirs, ours))
    return unread


def read_answer(connection: socket.socket) -> Answer:
    """Return the next answer, which must have a length and come alone."""
    received = b""
    while b"\r\n\r\n" not in received or not _is_whole(received):
        data = connection.recv(1 << 16)
        assert data, received
        received += data
    (answer,) = answers(received)
    return answer


def _is_whole(received: bytes) -> bool:
    """Return whether the body of an answer has come, as far as its length tells."""
    start, _, body = received.partition(b"\r\n\r\n")
    (length,) = re.findall(rb"(?im)^content-length: (\d+)", start)
    return len(body) >= int(length)


def answers(received: bytes) -> Iterator[Answer]:
    """Take answers apart; what is left over at the end is a mistake."""
    while received:
        head, found, rest = received.partition(b"\r\n\r\n")
        assert found, received[:200]
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (one.partition(": ") for one in lines)}
        protocol, status = first.split(" ")[:2]
        assert protocol == "HTTP/1.1", first
        length = int(headers.get("content-length", "0"))
        assert len(rest) >= length, (head, rest[:200])
        yield Answer(int(status), headers, rest[:length])
        received = rest[length:]


def head(first: str, *lines: str, host: str = "a") -> bytes:
    """Return a request's head."""
    told = [first, *([f"Host: {host}"] if host else []), *lines]
    return "\r\n".join([*told, "", ""]).encode("latin-1")


def post(*lines: str, body: bytes = b"") -> bytes:
    """Return a POST of a note with these header lines and a body as given."""
    return head("POST /notes HTTP/1.1", *lines) + body


def chunked(body: bytes) -> bytes:
    """Return a POST of a note whose body is framed as given."""
    return post("Transfer-Encoding: chunked", body=body)


HELLO = head("GET /hello HTTP/1.1")
LAST = head("GET /hello HTTP/1.1", "Connection: close")
NOTE = b'{"title": "x"}'
