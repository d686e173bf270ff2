"""A forge as a server: its API with ordered failures, its git, and a record of all requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.support.github.faults import Faults
from tests.support.github.smart_http import serve_git
from tests.support.github.world import GitHubWorld

GRAPHQL = "/api/graphql"
"""The path of the GraphQL API of a GitHub Enterprise Server."""


@dataclass(frozen=True)
class ApiRequest:
    """A request with its response; `template` is its path in the forge's description."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any
    status: int
    value: Any
    template: str = ""


@dataclass(frozen=True)
class Sent:
    """A response; the status 0 cuts the connection."""

    status: int
    value: Any
    headers: Mapping[str, str]


class ApiServer(ThreadingHTTPServer):
    """Serves one world.

    Attributes:
        api: the path of the API.
        requests: requests of the API, oldest first.
        page_size: the largest page, which tests lower.
    """

    daemon_threads = True
    api = ""

    def __init__(self, world: GitHubWorld, page_size: int) -> None:
        self.world, self.faults = world, Faults()
        self.requests: list[ApiRequest] = []
        self.page_size = page_size
        super().__init__(("127.0.0.1", 0), _Handler)

    def start(self) -> None:
        """Answer requests, in a thread."""
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self.world.webhooks.stop()
        self.shutdown()
        self.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def clone_url(self, name: str = "") -> str:
        """Return the address of the repository, or of a fork, for git."""
        return f"{self.url}/{name or self.world.repo.name}.git"

    def paths(self) -> list[str]:
        """Return the method and path of each request."""
        return [f"{request.method} {request.path}" for request in self.requests]

    @contextmanager
    def counted(self) -> Iterator[list[str]]:
        """Yield a list that has the requests of the block after it."""
        before, found = len(self.requests), list[str]()
        yield found
        found.extend(self.paths()[before:])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that close the connection."""

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: Any) -> Sent:
        """Return the response of the API, and record it."""
        parts = urlsplit(target)
        path, query = parts.path.removeprefix(self.api), dict(parse_qsl(parts.query))
        fault = self.faults.take(method, path)
        if fault and fault.gate:
            fault.gate.wait()
        template, sent = "", None
        if fault is None or fault.is_done or (fault.gate and not fault.status):
            with self.world.lock:
                self.world.sync()
                template, sent = self.process(method, path, query, headers, body)
                if method != "GET":
                    self.world.sync()
        if fault and not (fault.gate and not fault.status):
            sent = Sent(fault.status, fault.value, {**self.limits(), **fault.headers})
        assert sent is not None
        record = ApiRequest(method, path, query, headers, body, sent.status, sent.value, template)
        self.requests.append(record)
        return sent

    def process(
        self, method: str, path: str, query: dict[str, str], headers: Mapping[str, str], body: Any
    ) -> tuple[str, Sent]:
        """Return the path in the forge's description, and the response."""
        raise NotImplementedError

    def limits(self) -> dict[str, str]:
        """Return the headers about the forge's limits, after one more request."""
        return {}


class _Handler(BaseHTTPRequestHandler):
    server: ApiServer
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        if not self.path.startswith((self.server.api, GRAPHQL)):
            self.close_connection = True
            serve_git(self, self.server.world)
            return
        data = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        sent = self.server.answer(self.command, self.path, headers, json.loads(data or b"null"))
        if not sent.status:
            self.close_connection = True
            return
        has_body = sent.status not in {204, 304}
        text = json.dumps(sent.value).encode() if has_body and sent.value is not None else b""
        with suppress(ConnectionError):
            self.send_response(sent.status)
            for name, value in {**sent.headers, "content-length": str(len(text))}.items():
                self.send_header(name, value)
            self.send_header("content-type", "application/json; charset=utf-8")
            self.end_headers()
            self.wfile.write(text)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _answer  # noqa: N815 - the base's names

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Print nothing."""
