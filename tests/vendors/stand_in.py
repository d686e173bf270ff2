"""A vendor's stand-in on loopback: keeps what it is asked, answers what it is told, or fails."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self
from urllib.parse import parse_qsl, urlsplit

CUT_SHORT = 50
"""Bytes that a cut answer promises and does not send."""

SLOW_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What the stand-in does with a request.

    Attributes:
        body: JSON, or text as it is; None for nothing.
        breaks: ends the connection before the answer, or in the middle of it; or never answers.
    """

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    breaks: Literal["", "cut", "reset", "silent"] = ""


@dataclass(frozen=True, slots=True)
class Request:
    """A request in the parts that count: order of keys, white space and escapes do not."""

    method: str
    path: str
    query: list[tuple[str, str]]
    type: str
    body: Any
    headers: dict[str, str]
    raw: bytes = b""


class StandIn(ThreadingHTTPServer):
    """Answers each request with the next of `answers`; the last of them stays."""

    daemon_threads = True

    def __init__(self, *answers: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.asked, self.answers = list[Request](), list(answers) or [Answer(body={})]
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.ended = threading.Event()

    def next(self) -> Answer:
        """Return what the next request is answered."""
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, *_: object) -> None:
        """Say nothing: clients leave in the middle here."""


class _Answering(BaseHTTPRequestHandler):
    protocol_version, server = "HTTP/1.1", StandIn.__new__(StandIn)

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.server.asked.append(self._read(body))
        answer = self.server.next()
        if answer.breaks == "reset":
            now = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
            self.close_connection = True
            self.connection.close()
        elif answer.breaks == "silent":
            self.server.ended.wait(SLOW_SECONDS)
            self.close_connection = True
        else:
            self._tell(answer)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815 - the base's names

    def _read(self, body: bytes) -> Request:
        parts = urlsplit(self.path)
        kind = self.headers.get("content-type", "").partition(";")[0].strip()
        text, read = body.decode("latin-1"), Any
        if kind.endswith("urlencoded"):
            read = sorted(parse_qsl(body.decode(), keep_blank_values=True))
        else:
            read = json.loads(body) if kind.endswith("json") and text else text or None
        return Request(
            self.command, parts.path, sorted(parse_qsl(parts.query)), kind if text else "", read,
            {name.lower(): value for name, value in self.headers.items()}, body,
        )  # fmt: skip

    def _tell(self, answer: Answer) -> None:
        is_text = isinstance(answer.body, str)
        body = answer.body.encode() if is_text else json.dumps(answer.body).encode()
        body = b"" if answer.body is None else body
        self.send_response(answer.status)
        kind = "text/html" if is_text else "application/json"
        size = len(body) + (CUT_SHORT if answer.breaks == "cut" else 0)
        for name, value in {"content-type": kind, **answer.headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(size))
        self.end_headers()
        self.wfile.write(body)
        if answer.breaks == "cut":
            self.wfile.flush()
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""
