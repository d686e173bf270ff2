"""A receiver of webhooks, and a server that sends to it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.patience import PATIENCE_SECONDS
from tests.support.served import git
from tests.support.several import Several
from tests.support.small_project import write_project

KEY = bytes(range(32))


SECRET = f"whsec_{base64.b64encode(KEY).decode()}"


NAME = "HOOK_SECRET"


class Receiver(ThreadingHTTPServer):
    """Takes what is sent to it, and answers what it is told to."""

    def __init__(self, port: int = 0) -> None:
        self.taken: list[dict[str, Any]] = []
        self.tried: list[str] = []
        self.answers = 204
        self.gate = threading.Event()
        """Answers wait until it is set."""
        self.gate.set()
        super().__init__(("127.0.0.1", port), _Take)
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook"

    def stop(self) -> None:
        self.shutdown()
        self.server_close()


class _Take(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        receiver = self.server
        assert isinstance(receiver, Receiver)
        body = self.rfile.read(int(self.headers["content-length"]))
        verify(dict(self.headers), body)
        answer = receiver.answers
        receiver.tried.append(self.headers["webhook-id"])
        if answer == 204:
            receiver.taken.append(json.loads(body))
        receiver.gate.wait(PATIENCE_SECONDS)
        self.send_response(answer)
        if 300 <= answer < 400:
            self.send_header("location", f"{receiver.url}/elsewhere")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def verify(headers: dict[str, str], body: bytes) -> None:
    """Do what the reference implementation of Standard Webhooks does."""
    sent = {name.lower(): value for name, value in headers.items()}
    assert abs(time.time() - int(sent["webhook-timestamp"])) < 300
    signed = f"{sent['webhook-id']}.{sent['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
    assert f"v1,{expected}" in sent["webhook-signature"].split(" ")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.stop()


def settings(url: str, more: str = "") -> str:
    return (
        f"projects: {{ one: {{ repository: ./one }} }}\negress: {{ allow: [127.0.0.1] }}\n"
        f"webhooks: [{{ url: '{url}', secretEnv: {NAME}{more} }}]\n"
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_project(tmp_path / "one")
    git(tmp_path / "one", "init", "-q", "-b", "main")
    git(tmp_path / "one", "add", "-A")
    git(tmp_path / "one", "commit", "-qm", "Start")
    return tmp_path


def serve(folder: Path, url: str, more: str = "") -> Several:
    return Several(folder, settings(url, more), env={NAME: SECRET})
