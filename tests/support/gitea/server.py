"""The stand-in for Gitea as a server: requests, tokens, pages and redirects."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode

from tests.support.forge_world.api_server import ApiServer, Sent
from tests.support.gitea import pull_routes, report_routes
from tests.support.gitea.routing import GiteaCall, GiteaRoute, find_route
from tests.support.gitea.shapes import GiteaShapes
from tests.support.gitea.world import GiteaWorld
from tests.support.github.facts import Grant
from tests.support.github.routing import Reply
from tests.support.github.world import Refused

MODULES = (pull_routes, report_routes)
_UNPAGED = "/comments"
_UNLINKED = ("/reviews", "/hooks", _UNPAGED)
"""Lists without a link to the next page."""


class GiteaServer(ApiServer):
    """Serves one world."""

    api = "/api/v1"
    world: GiteaWorld

    def __init__(self, folder: Path, name: str = "acme/shop", *, kind: str = "gitea") -> None:
        super().__init__(GiteaWorld(folder, name, kind), page_size=50)
        self.shapes = GiteaShapes(self.world, self.url)
        self.start()

    def process(
        self, method: str, path: str, query: dict[str, str], headers: Mapping[str, str], body: Any
    ) -> tuple[str, Sent]:
        route: GiteaRoute | None = None
        try:
            if target := self._moved(path):
                rest = f"?{urlencode(query)}" if query else ""
                return "", Sent(301, None, {"location": f"{self.api}{target}{rest}"})
            route, names = find_route(method, path)
            reply = self._call(route, names, query, headers, body)
        except Refused as refused:
            value = {"message": refused.message, "url": f"{self.url}/api/swagger"}
            return route.template if route else "", Sent(refused.status, value, {})
        return route.template, self._finish(path, query, reply)

    def _moved(self, path: str) -> str:
        for name in self.world.old_names:
            root = f"/repos/{name}"
            if path == root or path.startswith(f"{root}/"):
                return f"/repos/{self.world.repo.name}" + path.removeprefix(root)
        return ""

    def _call(
        self, route: GiteaRoute, names: Mapping[str, str], query: Mapping[str, str],
        headers: Mapping[str, str], body: Any,
    ) -> Reply:  # fmt: skip
        grant = self._identify(headers.get("authorization", ""))
        if not grant.has(route.scope):
            name, _, level = route.scope.partition(": ")
            message = f"token does not have at least one of required scope(s): [{level}:{name}]"
            raise Refused(403, message)
        path = {name: unquote(value) for name, value in names.items()}
        if "repo" in path and f"{path['owner']}/{path['repo']}" != self.world.repo.name:
            raise Refused(404, "The target couldn't be found.")
        return route.handler(GiteaCall(self.world, self.shapes, grant, path, query, body))

    def _identify(self, header: str) -> Grant:
        kind, _, token = header.partition(" ")
        grant = self.world.grants.get(token) if kind == "token" else None
        if grant is None:
            raise Refused(401, "invalid username, password or token")
        return grant

    def _finish(self, path: str, query: dict[str, str], reply: Reply) -> Sent:
        value, sent = reply.value, dict[str, str]()
        rows = value.get("statuses") if isinstance(value, dict) else value
        if isinstance(rows, list):
            sent["x-total-count"] = str(len(rows))
            size = min(int(query.get("limit", "30")), self.page_size)
            page = int(query.get("page", "1"))
            if page * size < len(rows) and not path.endswith(_UNLINKED):
                rest = urlencode({**query, "page": str(page + 1)})
                sent["link"] = f'<{self.url}{self.api}{path}?{rest}>; rel="next"'
            if not path.endswith(_UNPAGED):
                rows[:] = rows[(page - 1) * size : page * size]
        return Sent(reply.status, value, sent)
