"""A program on this computer that waits for the answer of a sign-in, as agents' programs do."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit


class Callback(ThreadingHTTPServer):
    """Listens on any port; `told` has what each browser that comes brings."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/callback"
        self.told: queue.Queue[dict[str, str]] = queue.Queue()


class _Answering(BaseHTTPRequestHandler):
    server: Callback

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/callback":
            self.server.told.put(dict(parse_qsl(parts.query)))
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Done</title><link rel=icon href=data:,>Go back.")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def waiting() -> Iterator[Callback]:
    """Yield a program that waits."""
    callback = Callback()
    thread = threading.Thread(target=callback.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield callback
    finally:
        callback.shutdown()
        thread.join()
        callback.server_close()
