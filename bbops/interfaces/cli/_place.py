"""Where a command of a project's work asks: a server's project, or a draft of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import click
import msgspec

from bbops.base.console import say
from bbops.base.render import printable
from bbops.interfaces.cli._server import (
    as_json_option,
    of_draft,
    of_project,
    of_server,
    open_remote,
)

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Place:
    """A project or a draft, and how its answers are printed.

    Attributes:
        project: its name; None for the only one of the server.
        draft: the branch; None for what is live.
    """

    project: str | None
    draft: str | None
    server: str
    as_json: bool

    def read(self, path: str, kind: type[T]) -> T:
        """Return what the server knows. Raises: BbopsError: it refuses, or does not answer."""
        return self._ask("GET", path, kind)

    def change(self, path: str, kind: type[T], body: Any = None, **time: float) -> T:
        """Have the server change something, and return what it did. Raises as `read`.

        `seconds` is how long that may take.
        """
        return self._ask("POST", path, kind, body, **time)

    def _ask(self, method: str, path: str, kind: type[T], *body: Any, **time: float) -> T:
        with open_remote(self.server) as remote:
            name = self.project or remote.only_project()
            return remote.of_project(name, method, remote.path_in(name, self.draft, path), kind,
                                     *body, **time)  # fmt: skip

    def show(self, found: object, *lines: str) -> None:
        """Print an answer: as JSON where that was asked for, else these lines."""
        if self.as_json:
            say(msgspec.json.encode(found).decode())
            return
        for line in lines:
            say(line)


def at_place(function: Callable[..., R]) -> Callable[..., R]:
    """Give a command the options --draft, --project, --server and --json, as one `place`."""
    return of_draft(_at(function))


def at_project(function: Callable[..., R]) -> Callable[..., R]:
    """Give a command the same options without --draft."""
    return _at(function)


def _at(function: Callable[..., R]) -> Callable[..., R]:
    @of_project
    @of_server
    @as_json_option
    @wraps(function)
    def wrapped(
        *args: Any, project: str | None, server: str, as_json: bool, draft: str | None = None,
        **more: Any,
    ) -> R:  # fmt: skip
        return function(*args, place=Place(project, draft, server, as_json), **more)

    return wrapped


def started(job: str) -> str:
    """Return what is said of a job that was made."""
    return f"started {printable(job)}; 'bbops jobs show {printable(job)}' follows it"


limit_option = click.option(
    "--limit", default=100, show_default=True, type=click.IntRange(1, 1_000),
    help="How many are listed.",
)  # fmt: skip
