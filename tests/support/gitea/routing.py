"""Routes of the stand-in for Gitea: the paths of its API, and the scope that each needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.gitea.shapes import GiteaShapes
from tests.support.gitea.world import GiteaWorld
from tests.support.github.facts import Grant
from tests.support.github.routing import Reply, require
from tests.support.github.world import WRITERS, Refused

REPO = "/repos/{owner}/{repo}"
_WIDE = frozenset({"branch"})
"""Parameters that contain slashes."""


@dataclass(frozen=True)
class GiteaCall:
    """A request of a client whose token has the scope for it."""

    world: GiteaWorld
    shapes: GiteaShapes
    grant: Grant
    path: Mapping[str, str]
    query: Mapping[str, str]
    body: Any

    def number(self, name: str) -> int:
        """Return a number of the path. Raises: Refused: it is another text."""
        require(self.path[name].isdigit())
        return int(self.path[name])

    def require_writer(self) -> None:
        """Require that the token's user may write. Raises: Refused: they may not."""
        message = "user should have a permission to write to a repo"
        require(self.world.role(self.grant.who) in WRITERS, 403, message)

    def require_admin(self) -> None:
        """Require that the token's user administers the repository. Raises as `require_writer`."""
        message = "user should be an owner or a collaborator with admin write of a repository"
        require(self.world.role(self.grant.who) == "admin", 403, message)


Handler = Callable[[GiteaCall], Reply]


@dataclass(frozen=True)
class GiteaRoute:
    """A route; `template` is the path in the description, `scope` what the token must have."""

    method: str
    template: str
    scope: str
    handler: Handler
    pattern: re.Pattern[str]


ROUTES: list[GiteaRoute] = []


def route(method: str, template: str, scope: str) -> Callable[[Handler], Handler]:
    """Add a route."""

    def add(handler: Handler) -> Handler:
        pattern = re.sub(r"\{(\w+)\}", _group, template)
        ROUTES.append(GiteaRoute(method, template, scope, handler, re.compile(pattern)))
        return handler

    return add


def _group(name: re.Match[str]) -> str:
    return f"(?P<{name[1]}>{'.+' if name[1] in _WIDE else '[^/]+'})"


def find_route(method: str, path: str) -> tuple[GiteaRoute, dict[str, str]]:
    """Return the route of a path and its parameters, still escaped. Raises: Refused: none fits."""
    for each in ROUTES:
        if each.method == method and (matched := each.pattern.fullmatch(path)):
            return each, matched.groupdict()
    raise Refused(404, "Not Found")
