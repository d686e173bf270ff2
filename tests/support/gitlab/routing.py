"""Routes of the stand-in for GitLab: the paths of its API, and the scope that each needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.github.facts import Grant, Pull
from tests.support.github.routing import Reply, require
from tests.support.github.world import Refused
from tests.support.gitlab.shapes import GitLabShapes
from tests.support.gitlab.world import GitLabWorld

PROJECT = "/v4/projects/{id}"
PULL = f"{PROJECT}/merge_requests/{{iid}}"
READ, WRITE = "api: read", "api: write"


@dataclass(frozen=True)
class GitLabCall:
    """A request of a client whose token has the scope for it."""

    world: GitLabWorld
    shapes: GitLabShapes
    grant: Grant
    path: Mapping[str, str]
    query: Mapping[str, str]
    body: Any

    def number(self, name: str) -> int:
        """Return a number of the path. Raises: Refused: it is another text."""
        require(self.path[name].isdigit(), 400, f"{name} is invalid")
        return int(self.path[name])

    def pull(self) -> Pull:
        """Return the merge request of the path. Raises: Refused: it does not exist."""
        return self.world.find_pull(self.number("iid"))

    def require_level(self, level: int) -> None:
        """Require the access level of the token's user. Raises: Refused: it is lower."""
        require(self.world.level(self.grant.who) >= level, 403, "403 Forbidden")


Handler = Callable[[GitLabCall], Reply]


@dataclass(frozen=True)
class GitLabRoute:
    """A route; `schema` is the type of its response in `@gitbeaker/core`, empty for none."""

    method: str
    template: str
    scope: str
    schema: str
    handler: Handler
    pattern: re.Pattern[str]


ROUTES: list[GitLabRoute] = []


def route(method: str, template: str, scope: str, schema: str = "") -> Callable[[Handler], Handler]:
    """Add a route."""

    def add(handler: Handler) -> Handler:
        pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", template)
        ROUTES.append(GitLabRoute(method, template, scope, schema, handler, re.compile(pattern)))
        return handler

    return add


def find_route(method: str, path: str) -> tuple[GitLabRoute, dict[str, str]]:
    """Return the route of a path and its parameters, still escaped. Raises: Refused: none fits."""
    for each in ROUTES:
        if each.method == method and (matched := each.pattern.fullmatch(path)):
            return each, matched.groupdict()
    raise Refused(404, "404 Not Found")
