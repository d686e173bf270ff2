"""Routes of the stand-in for GitHub: the paths of its API, and the rights that each needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.github.facts import Grant
from tests.support.github.report_shapes import ReportShapes
from tests.support.github.world import GitHubWorld, Refused

REPO = "/repos/{owner}/{repo}"


@dataclass(frozen=True)
class Call:
    """A request of a client that has the right for it."""

    world: GitHubWorld
    shapes: ReportShapes
    grant: Grant
    path: Mapping[str, str]
    query: Mapping[str, str]
    body: Any

    def number(self, name: str) -> int:
        """Return a number of the path. Raises: Refused: it is another text."""
        text = self.path[name]
        if not text.isdigit():
            raise Refused(404, "Not Found")
        return int(text)


@dataclass(frozen=True)
class Reply:
    """A response; `details` are the `errors` of a refusal."""

    status: int
    value: Any
    details: list[Any] = field(default_factory=list)


Handler = Callable[[Call], Reply]


@dataclass(frozen=True)
class Route:
    """A route; `template` is the path in GitHub's description, `right` what the token must have."""

    method: str
    template: str
    right: str
    handler: Handler
    pattern: re.Pattern[str]


ROUTES: list[Route] = []


def route(method: str, template: str, right: str) -> Callable[[Handler], Handler]:
    """Add a route."""

    def add(handler: Handler) -> Handler:
        pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", template)
        ROUTES.append(Route(method, template, right, handler, re.compile(pattern)))
        return handler

    return add


def find_route(method: str, path: str) -> tuple[Route, dict[str, str]]:
    """Return the route of a path and its parameters, still escaped. Raises: Refused: none fits."""
    for each in ROUTES:
        if each.method == method and (matched := each.pattern.fullmatch(path)):
            return each, matched.groupdict()
    raise Refused(404, "Not Found")


def require(value: object, status: int = 404, message: str = "Not Found") -> None:
    """Refuse a request without a value."""
    if not value:
        raise Refused(status, message)
