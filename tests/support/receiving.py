"""A server that sends webhooks, and receivers of them, all on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bbops.source.git import store
from tests.support.patience import PATIENCE_SECONDS
from tests.support.sending import CUSTOMERS, DONE, ENV, FILES, RECEIVERS, SECRET
from tests.support.served import Served
from tests.support.small_project import endpoint

ADD = """
input: { customer: string, url: string }
steps:
  - insert:
      table: receivers
      data: { customer_id: "${ input.customer }", url: "${ input.url }", secret: SECRET }
  - return: { status: 201 }
""".replace("SECRET", SECRET)
NOTE = """
payload: { webhook: string, receiver: string, reason: string }
steps:
  - insert: { table: marks, data: { word: "${ event.payload.reason }" } }
"""
MARKS = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  word: { type: string, maxLength: 100 }
"""


def hook(scheme: str) -> str:
    secret = "PARTNER_SECRET"
    signature = f'{{ scheme: {scheme}, secret: "${{ env.{secret} }}" }}'
    return f"webhook:\n  path: /hooks/{scheme}\n  signature: {signature}\nfunction: paid\n"


PROJECT = FILES | {
    "tables/marks.yaml": MARKS, "functions/hear.yaml": NOTE, "functions/add.yaml": ADD,
    "endpoints/done.yaml": endpoint("POST", "/done", "done"),
    "endpoints/tell.yaml": endpoint("POST", "/tell", "tell"),
    "endpoints/add.yaml": endpoint("POST", "/receivers", "add"),
    "functions/paid.yaml": "payload: { number: integer }\nsteps:\n"
    '  - insert: { table: marks, data: { word: "${ event.name }" } }\n',
    **{f"triggers/{one}.yaml": hook(one) for one in ("standard", "stripe", "github")},
}  # fmt: skip

__all__ = ["CUSTOMERS", "DONE", "RECEIVERS", "Receiver", "receiver", "sending"]


class Receiver(ThreadingHTTPServer):
    """Keeps what is sent to it, and answers what it is told to, by path."""

    daemon_threads = True

    def __init__(self) -> None:
        self.got: list[tuple[str, dict[str, str], str]] = []
        self.answers: dict[str, int] = {}
        self.gates: dict[str, threading.Event] = {}
        super().__init__(("127.0.0.1", 0), _Take)
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"

    def gate(self, path: str) -> threading.Event:
        """Hold answers to a path until the gate is set."""
        return self.gates.setdefault(path, threading.Event())

    def ids(self, path: str) -> list[str]:
        """Return the ids of messages to a path, in the order in which they came."""
        return [headers["webhook-id"] for at, headers, _ in self.got if at == path]

    def stop(self) -> None:
        self.shutdown()
        self.server_close()


class _Take(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        receiver = self.server
        assert isinstance(receiver, Receiver)
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        headers = {name.lower(): value for name, value in self.headers.items()}
        receiver.got.append((self.path, headers, body))
        if gate := receiver.gates.get(self.path):
            gate.wait(PATIENCE_SECONDS)
        self.send_response(receiver.answers.get(self.path, 204))
        self.send_header("location", receiver.url("/elsewhere"))
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()
    yield found
    found.stop()


@pytest.fixture
def sending(tmp_path: Path, receiver: Receiver) -> Iterator[Served]:
    """A server that may send to this machine."""
    folder = tmp_path / "shop"
    store.init(folder, {path: text.encode() for path, text in PROJECT.items()}, message="Start")
    egress = "egress: { allow: [127.0.0.1], receivers: [127.0.0.1] }\n"
    (tmp_path / "settings.yaml").write_text(egress)
    env = ENV | {"PARTNER_URL": receiver.url("/partner")}
    settings = ["--settings", str(tmp_path / "settings.yaml")]
    served = Served(folder, tmp_path / "home", "--workers", "2", *settings, env=env)
    served.live()
    yield served
    if served.process.poll() is None:
        served.stop()


def shown(served: Served, *arguments: str) -> Any:
    """Return what a command prints as JSON."""
    done = served.bbops(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
