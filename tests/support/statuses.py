"""The control plane of a server that only says its status."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

READY = {
    "name": "shop", "url": "http://127.0.0.1:8000", "branch": "main",
    "attempted_revision": "main@sha1:" + "a" * 40, "applied_revision": "main@sha1:" + "a" * 40,
    "release": "f" * 64,
    "conditions": [
        {"type": "Ready", "status": True, "reason": "Published", "message": "it is live",
         "since": "2026-01-02T03:04:05Z"},
        {"type": "Stalled", "status": False, "reason": "Done", "message": "quiet", "since": None},
    ],
    "diagnostics": [],
    "publications": [
        {"revision": "main@sha1:aa", "at": "2026-01-02T03:04:05Z", "outcome": "live",
         "milliseconds": 12.5, "version": "v3", "author": "Ada", "subject": "Begin",
         "changes": [], "message": ""}
    ],
    "version": "v3", "handled_at": None, "commit": None,
}  # fmt: skip


STALLED = {
    **READY, "name": "blog", "attempted_revision": "main@sha1:" + "b" * 40,
    "conditions": [
        {"type": "Ready", "status": False, "reason": "Behind", "message": "an older one serves",
         "since": "2026-01-02T03:04:05Z"},
        {"type": "Stalled", "status": True, "reason": "Invalid", "message": "1 error [x]",
         "since": "2026-01-02T03:04:05Z"},
    ],
    "diagnostics": [
        {"severity": "error", "code": "unknown-key", "file": "a.yaml", "line": 2, "column": 3,
         "message": "unknown key 'x'", "hint": "remove it"}
    ],
}  # fmt: skip


Answers = dict[str, tuple[int, Any]]


Start = Callable[[Answers], str]


@pytest.fixture
def control() -> Iterator[Start]:
    """Answer fixed JSON by 'METHOD path' on a free port."""
    servers: list[ThreadingHTTPServer] = []

    def start(answers: Answers) -> str:
        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                status, body = answers.get(f"{self.command} {self.path}", (404, {"error": "no"}))
                data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = answer  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def answers_of(*projects: dict[str, Any]) -> Answers:
    lines = [
        {"name": p["name"], "revision": p["applied_revision"], "url": p["url"], "ready": True}
        for p in projects
    ]
    found: Answers = {"GET /api/projects": (200, lines)}
    return found | {f"GET /api/projects/{p['name']}/status": (200, p) for p in projects}
