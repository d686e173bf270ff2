"""Uploads and bodies that try to do harm: too many, too long, too slow, and lies about a length."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from urllib.parse import urlsplit

BOUND = "b"
SECONDS = 3.0
"""What a body takes that comes slowly, or never ends."""
_MB = 1_000_000
Body = tuple[dict[str, str], Iterator[bytes]]
_FORM = {"content-type": f"multipart/form-data; boundary={BOUND}"}
_JSON = {"content-type": "application/json"}


def part(name: str = "file", file: str = "a.bin", more: str = "") -> bytes:
    head = f'--{BOUND}\r\ncontent-disposition: form-data; name="{name}"; filename="{file}"\r\n'
    return f"{head}{more}\r\n".encode()


def whole(body: bytes, kind: dict[str, str] = _FORM) -> Body:
    return {**kind, "content-length": str(len(body))}, iter([body])


def many_parts() -> Body:
    return whole((part() + b"x\r\n") * 20_000 + f"--{BOUND}--\r\n".encode())


def many_fields() -> Body:
    return whole("&".join(f"f{at}=1" for at in range(200_000)).encode(),
                 {"content-type": "application/x-www-form-urlencoded"})  # fmt: skip


def huge_names() -> Body:
    return whole(part(name="n" * _MB, file="../" * _MB + "\0") + b"x\r\n")


def huge_heads() -> Body:
    return whole(part(more="x-a: b\r\n" * 100_000) + b"x\r\n")


def a_boundary_in_each_byte() -> Body:
    return whole(part() + f"\r\n--{BOUND[:-1]}".encode() * 2 * _MB)


def large_files() -> Body:
    return {**_FORM, "transfer-encoding": "chunked"}, _chunked(
        [part(), *[b"\0" * _MB] * 19, b"\r\n"] * 8
    )


def deep_json() -> Body:
    return whole(b'{"a":' * 200_000, _JSON)


def wide_json() -> Body:
    return whole(json.dumps({f"k{at}": [at] for at in range(60_000)}).encode(), _JSON)


def slow() -> Body:
    return {**_FORM, "content-length": "1000"}, _slowly(part() + b"x" * 900)


def slow_chunks() -> Body:
    return {**_FORM, "transfer-encoding": "chunked"}, _chunked([part()], _slowly(b"x" * 900))


def too_little() -> Body:
    return {**_FORM, "content-length": str(20 * _MB)}, iter([part(), b"x" * 1000])


def too_much() -> Body:
    return {**_FORM, "content-length": "10"}, iter([part(), b"x" * _MB])


def two_lengths() -> Body:
    return {**_FORM, "content-length": "5", "transfer-encoding": "chunked"}, iter([part()])


def no_length() -> Body:
    return {**_FORM, "content-length": "-1"}, iter([part() * 100])


def a_chunk_without_end() -> Body:
    return {**_FORM, "transfer-encoding": "chunked"}, iter([b"f" * 15 + b"\r\n", b"x" * _MB])


WAYS: tuple[Callable[[], Body], ...] = (
    many_parts, many_fields, huge_names, huge_heads, a_boundary_in_each_byte, large_files,
    deep_json, wide_json, slow, slow_chunks, too_little, too_much, two_lengths, no_length,
    a_chunk_without_end,
)  # fmt: skip


def send(url: str, headers: dict[str, str], body: Body) -> str:
    """Post a body as it is to a URL; return the status, or why there is none."""
    parts = urlsplit(url)
    fields = {"host": parts.netloc, "connection": "close", **headers, **body[0]}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    address = (parts.hostname or "", parts.port or 80)
    with socket.create_connection(address, timeout=SECONDS) as connection:
        with suppress(OSError):  # it need not be read to its end
            connection.sendall(f"POST {parts.path} HTTP/1.1\r\n{head}\r\n".encode())
            for chunk in body[1]:
                connection.sendall(chunk)
        try:
            answer = connection.recv(100)
        except OSError as error:
            return type(error).__name__
    return answer[9:12].decode() or "closed"


def _slowly(data: bytes) -> Iterator[bytes]:
    until = time.monotonic() + SECONDS
    for at in range(len(data)):
        if time.monotonic() > until:
            return
        yield data[at : at + 1]
        time.sleep(0.02)


def _chunked(*parts: object) -> Iterator[bytes]:
    for each in parts:
        for data in each:  # type: ignore[attr-defined]
            yield f"{len(data):x}\r\n".encode() + data + b"\r\n"
