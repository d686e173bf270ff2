"""The stand-in for GitHub as a server: requests, credentials, pages, ETags and redirects."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode

import jwt

from tests.support.forge_world.api_server import ApiServer, Sent
from tests.support.github import app_routes, pull_routes, report_routes
from tests.support.github.app_routes import JWT, NOTHING
from tests.support.github.facts import Grant
from tests.support.github.report_shapes import ReportShapes
from tests.support.github.routing import Call, Reply, Route, find_route
from tests.support.github.world import GitHubWorld, Refused

API = "/api/v3"
MODULES = (pull_routes, report_routes, app_routes)
_DOCS = "https://docs.github.com/rest"


class GitHubServer(ApiServer):
    """Serves one world."""

    api = API

    def __init__(self, folder: Path, name: str = "acme/shop") -> None:
        self.left = 5_000
        super().__init__(GitHubWorld(folder, name), page_size=100)
        self.shapes = ReportShapes(self.world, self.url)
        self.start()

    def process(
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
                return "", Sent(status, value, {"location": location, **self.limits()})
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
            return route.template if route else "", Sent(reply.status, refusal, self.limits())
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
                return Sent(304, None, {**sent, **self.limits(0)})
        return Sent(reply.status, value, {**sent, **self.limits()})

    def limits(self, cost: int = 1) -> dict[str, str]:
        self.left -= cost
        reset = int(self.world.now().timestamp()) + 3_600
        return {
            "x-ratelimit-limit": "5000", "x-ratelimit-remaining": str(self.left),
            "x-ratelimit-reset": str(reset), "x-ratelimit-resource": "core",
        }  # fmt: skip
