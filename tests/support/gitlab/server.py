"""The stand-in for GitLab as a server: requests, tokens, pages, ETags and redirects."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode

from tests.support.forge_world.api_server import ApiServer, Sent
from tests.support.github.facts import Grant
from tests.support.github.routing import Reply
from tests.support.github.world import Refused
from tests.support.gitlab import pull_routes, report_routes
from tests.support.gitlab.routing import GitLabCall, GitLabRoute, find_route
from tests.support.gitlab.shapes import GitLabShapes
from tests.support.gitlab.world import GitLabWorld

MODULES = (pull_routes, report_routes)


class GitLabServer(ApiServer):
    """Serves one world."""

    api = "/api"
    world: GitLabWorld

    def __init__(self, folder: Path, name: str = "acme/backend/shop") -> None:
        self.left = 2_000
        super().__init__(GitLabWorld(folder, name), page_size=100)
        self.shapes = GitLabShapes(self.world, self.url)
        self.start()

    def process(
        self, method: str, path: str, query: dict[str, str], headers: Mapping[str, str], body: Any
    ) -> tuple[str, Sent]:
        route: GitLabRoute | None = None
        try:
            grant = self._identify(headers.get("authorization", ""))
            route, names = find_route(method, path)
            if target := self._moved(method, path, names):
                rest = f"?{urlencode(query)}" if query else ""
                return "", Sent(301, None, {"location": f"{self.url}{self.api}{target}{rest}"})
            reply = self._call(route, grant, names, query, body)
        except Refused as refused:
            value = {"message": refused.message}
            template = route.template if route else ""
            return template, Sent(refused.status, value, self.limits())
        return route.template, self._finish(query, headers, reply)

    def limits(self) -> dict[str, str]:
        self.left -= 1
        reset = int(self.world.now().timestamp()) + 60
        return {
            "ratelimit-limit": "2000", "ratelimit-remaining": str(self.left),
            "ratelimit-reset": str(reset),
        }  # fmt: skip

    def _moved(self, method: str, path: str, names: Mapping[str, str]) -> str:
        """Return the path by the project's number, if it has another name now."""
        if unquote(names.get("id", "")) not in self.world.old_names:
            return ""
        if method != "GET":
            raise Refused(405, "Non GET methods are not allowed for moved projects")
        return path.replace(f"/{names['id']}", f"/{self.world.repo.id}", 1)

    def _call(
        self, route: GitLabRoute, grant: Grant, names: Mapping[str, str], query: Mapping[str, str],
        body: Any,
    ) -> Reply:  # fmt: skip
        if not grant.has(route.scope):
            raise Refused(403, "insufficient_scope")
        path = {name: unquote(value) for name, value in names.items()}
        if path.get("id", self.world.repo.name) not in {
            self.world.repo.name,
            str(self.world.repo.id),
        }:
            raise Refused(404, "404 Project Not Found")
        return route.handler(GitLabCall(self.world, self.shapes, grant, path, query, body))

    def _identify(self, header: str) -> Grant:
        kind, _, token = header.partition(" ")
        grant = self.world.grants.get(token) if kind == "Bearer" else None
        if grant is None:
            raise Refused(401, "401 Unauthorized")
        return grant

    def _finish(self, query: dict[str, str], headers: Mapping[str, str], reply: Reply) -> Sent:
        rows, sent = reply.value, self.limits()
        if isinstance(rows, list):
            size = min(int(query.get("per_page", "20")), self.page_size)
            page = int(query.get("page", "1"))
            sent["x-next-page"] = str(page + 1) if page * size < len(rows) else ""
            rows[:] = rows[(page - 1) * size : page * size]
        if reply.status == 200:
            digest = hashlib.sha256(json.dumps(reply.value).encode()).hexdigest()
            sent["etag"] = f'W/"{digest}"'
            if headers.get("if-none-match") == sent["etag"]:
                return Sent(304, None, sent)
        return Sent(reply.status, reply.value, sent)
