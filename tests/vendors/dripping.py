"""A model's vendor on loopback that sends its answer as a test says: piece by piece."""

from __future__ import annotations

import json
import queue
import socket
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.vendors.streamed import choice, chunks

PIECE = chunks(choice({"content": "x" * 1000}))


@dataclass(eq=False)
class Asked:
    """One request under way: what is `put` is sent, None ends the answer."""

    body: Any
    sent_bytes: int = 0
    sending: queue.Queue[str | None] = field(default_factory=queue.Queue)
    left: threading.Event = field(default_factory=threading.Event)

    def put(self, *pieces: str | None) -> None:
        """Send pieces, each by itself."""
        for one in pieces:
            self.sending.put(one)

    def say(self, *texts: str) -> None:
        """Send texts in the form of OpenAI."""
        self.put(*(chunks(choice({"content": text})) for text in texts))

    def end(self) -> None:
        """End the answer as OpenAI does."""
        self.put(chunks(choice({}, "stop")) + "data: [DONE]\n\n", None)


class Dripping(ThreadingHTTPServer):
    """Answers each request by a stream that the test writes."""

    daemon_threads, request_queue_size = True, 512

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.asked: queue.Queue[Asked] = queue.Queue()
        self.endless = False
        """Whether answers go on without end, as fast as they are read."""

    def next(self) -> Asked:
        """Return the next request."""
        return self.asked.get(timeout=120)

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, *_: object) -> None:
        """Say nothing: clients leave in the middle here."""


class _Answering(BaseHTTPRequestHandler):
    protocol_version, server = "HTTP/1.1", Dripping.__new__(Dripping)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        asked = Asked(json.loads(body))
        self.server.asked.put(asked)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            # what waits in buffers counts to the most that an answer may have
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
            while (piece := PIECE if self.server.endless else self._next(asked)) is not None:
                self.wfile.write(piece.encode())
                self.wfile.flush()
                asked.sent_bytes += len(piece)
        except OSError:
            asked.left.set()

    def _next(self, asked: Asked) -> str | None:
        """Return what is to be sent next; where the other side has left, that is noted."""
        self.connection.settimeout(0.05)
        while True:
            try:
                return asked.sending.get(timeout=0.05)
            except queue.Empty:
                self._look()

    def _look(self) -> None:
        try:
            if self.connection.recv(1) == b"":
                raise ConnectionResetError
        except TimeoutError:
            return

    def log_message(self, *_: Any) -> None:
        """Say nothing."""
