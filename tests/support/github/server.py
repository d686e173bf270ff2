"""The stand-in for GitHub as a server: requests, credentials, pages, ETags and redirects."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import jwt

from tests.support.github import app_routes, pull_routes, report_routes
from tests.support.github.app_routes import JWT, NOTHING
from tests.support.github.facts import Grant
from tests.support.github.faults import Faults
from tests.support.github.report_shapes import ReportShapes
from tests.support.github.routing import Call, Reply, Route, find_route
from tests.support.github.smart_http import serve_git
from tests.support.github.world import GitHubWorld, Refused

API = "/api/v3"
MODULES = (pull_routes, report_routes, app_routes)
_DOCS = "https://docs.github.com/rest"


@dataclass(frozen=True)
class GitHubRequest:
    """A request with its response; `template` is its path in GitHub's description."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any
    status: int
    value: Any
    template: str = ""


class GitHubServer(ThreadingHTTPServer):
    """Serves one world.

    Attributes:
        requests: requests of the API, oldest first.
        page_size: the largest page, which tests lower.
    """

    daemon_threads = True

    def __init__(self, folder: Path, name: str = "acme/shop") -> None:
        self.world, self.faults = GitHubWorld(folder, name), Faults()
        self.requests: list[GitHubRequest] = []
        self.page_size, self.left = 100, 5_000
        super().__init__(("127.0.0.1", 0), _Handler)
        self.shapes = ReportShapes(self.world, self.url)
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
        path, query = parts.path.removeprefix(API), dict(parse_qsl(parts.query))
        fault = self.faults.take(method, path)
        if fault and fault.gate:
            fault.gate.wait()
        template, sent = "", None
        if fault is None or fault.is_done or (fault.gate and not fault.status):
            with self.world.lock:
                self.world.sync()
                template, sent = self._process(method, path, query, headers, body)
                if method != "GET":
                    self.world.sync()
        if fault and not (fault.gate and not fault.status):
            sent = Sent(fault.status, fault.value, {**self._limits(), **fault.headers})
        assert sent is not None
        record = GitHubRequest(
            method, path, query, headers, body, sent.status, sent.value, template
        )
        self.requests.append(record)
        return sent

    def _process(
        self, method: str, path: str, query: dict[str, str], headers: Mapping[str, str], body: Any
    ) -> tuple[str, Sent]:
        route: Route | None = None
        try:
            if target := self._moved(path):
                location = f"{self.url}{API}{target}" + (f"?{urlencode(query)}" if query else "")
                status = 301 if method == "GET" else 307
                value = {
                    "message": "Moved Permanently",
                    "url": location,
                    "documentation_url": _DOCS,
                }
                return "", Sent(status, value, {"location": location, **self._limits()})
            number = self.world.repo.id
            known = path.replace(f"/repositories/{number}", f"/repos/{self.world.repo.name}", 1)
            route, names = find_route(method, known)
            reply = self._call(route, names, query, headers, body)
        except Refused as refused:
            reply = Reply(refused.status, {"message": refused.message})
        if reply.status >= 400:
            refusal = {**reply.value, "documentation_url": _DOCS, "status": str(reply.status)}
            if reply.details:
                refusal["errors"] = reply.details
            return route.template if route else "", Sent(reply.status, refusal, self._limits())
        assert route is not None
        return route.template, self._finish(path, query, headers, reply)

    def _moved(self, path: str) -> str:
        for name in self.world.old_names:
            root = f"/repos/{name}"
            if path == root or path.startswith(f"{root}/"):
                return f"/repositories/{self.world.repo.id}" + path.removeprefix(root)
        return ""

    def _call(
        self, route: Route, names: Mapping[str, str], query: Mapping[str, str],
        headers: Mapping[str, str], body: Any,
    ) -> Reply:  # fmt: skip
        token = headers.get("authorization", "").removeprefix("Bearer ")
        grant = self._identify(route.right, token)
        path = {name: unquote(value) for name, value in names.items()}
        if "repo" in path and f"{path['owner']}/{path['repo']}" != self.world.repo.name:
            raise Refused(404, "Not Found")
        if route.right not in {JWT, NOTHING} and not grant.has(route.right):
            kind = "integration" if grant.is_app else "personal access token"
            raise Refused(403, f"Resource not accessible by {kind}")
        return route.handler(Call(self.world, self.shapes, grant, path, query, body))

    def _identify(self, right: str, token: str) -> Grant:
        if right == NOTHING:
            return Grant("", {})
        return self._find_grant(token) if right != JWT else self._read_jwt(token)

    def _find_grant(self, token: str) -> Grant:
        grant = self.world.grants.get(token)
        if grant is None or (grant.expires_at and grant.expires_at <= self.world.now()):
            raise Refused(401, "Bad credentials")
        return grant

    def _read_jwt(self, token: str) -> Grant:
        app = self.world.app
        if app is None:
            raise Refused(401, "A JSON web token could not be decoded")
        try:
            claims = jwt.decode(
                token, app.public_key, ["RS256"], options={"verify_exp": False, "verify_iat": False}
            )
        except jwt.PyJWTError:
            raise Refused(401, "A JSON web token could not be decoded") from None
        now = self.world.now().timestamp()
        if claims["iss"] != str(app.id) or not claims["iat"] <= now < claims["exp"] <= now + 600:
            raise Refused(401, "'Expiration time' claim ('exp') is too far in the future")
        return Grant(app.slug, is_app=True)

    def _finish(
        self, path: str, query: dict[str, str], headers: Mapping[str, str], reply: Reply
    ) -> Sent:
        value, sent = reply.value, dict[str, str]()
        rows = next(
            (rows for rows in (value, *(value.values() if isinstance(value, dict) else ()))
             if isinstance(rows, list)), None,
        )  # fmt: skip
        is_list = isinstance(value, list) or (isinstance(value, dict) and "total_count" in value)
        if is_list and rows is not None:
            size = min(int(query.get("per_page", "30")), self.page_size)
            page = int(query.get("page", "1"))
            if page * size < len(rows):
                rest = urlencode({**query, "page": str(page + 1)})
                sent["link"] = f'<{self.url}{API}{path}?{rest}>; rel="next"'
            rows[:] = rows[(page - 1) * size : page * size]
        if reply.status == 200:
            sent["etag"] = f'W/"{hashlib.sha256(json.dumps(value).encode()).hexdigest()}"'
            if headers.get("if-none-match") == sent["etag"]:
                return Sent(304, None, {**sent, **self._limits(0)})
        return Sent(reply.status, value, {**sent, **self._limits()})

    def _limits(self, cost: int = 1) -> dict[str, str]:
        self.left -= cost
        reset = int(self.world.now().timestamp()) + 3_600
        return {
            "x-ratelimit-limit": "5000", "x-ratelimit-remaining": str(self.left),
            "x-ratelimit-reset": str(reset), "x-ratelimit-resource": "core",
        }  # fmt: skip


@dataclass(frozen=True)
class Sent:
    """A response; the status 0 cuts the connection."""

    status: int
    value: Any
    headers: Mapping[str, str]


class _Handler(BaseHTTPRequestHandler):
    server: GitHubServer
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        if not self.path.startswith(API):
            self.close_connection = True
            serve_git(self, self.server.world)
            return
        data = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        sent = self.server.answer(self.command, self.path, headers, json.loads(data or b"null"))
        if not sent.status:
            self.close_connection = True
            return
        text = b"" if sent.status == 304 else json.dumps(sent.value).encode()
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
