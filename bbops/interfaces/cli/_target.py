"""The target of a command, its question before many changes, and its list."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import click
import msgspec

from bbops.base.console import say
from bbops.base.errors import BbopsError
from bbops.base.render import printable
from bbops.interfaces.cli._server import (
    as_json_option,
    of_draft,
    of_project,
    of_server,
    open_remote,
)

# ---- Print a list from a server: a line for each item, or JSON

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class ProjectTarget:
    """A project or a draft on a server, and the output format.

    Attributes:
        project: its name; None for the only project of the server.
        draft: the branch; None for the live release.
    """

    project: str | None
    draft: str | None
    server: str
    as_json: bool

    def read(self, path: str, kind: type[T]) -> T:
        """Return a resource of the server. Raises: BbopsError: it refuses, or does not respond."""
        return self._request("GET", path, kind)

    def change(self, path: str, kind: type[T], body: Any = None, **time: float) -> T:
        """Send a change to the server and return the result. Raises as `read`.

        `seconds` is the timeout.
        """
        return self._request("POST", path, kind, body, **time)

    def _request(self, method: str, path: str, kind: type[T], *body: Any, **time: float) -> T:
        with open_remote(self.server) as remote:
            name = self.project or remote.only_project()
            return remote.of_project(name, method, remote.path_in(name, self.draft, path), kind,
                                     *body, **time)  # fmt: skip

    def print(self, result: object, *lines: str) -> None:
        """Print a result: as JSON if requested, else these lines."""
        if self.as_json:
            say(msgspec.json.encode(result).decode())
            return
        for line in lines:
            say(line)


def with_target(function: Callable[..., R]) -> Callable[..., R]:
    """Give a command the options --draft, --project, --server and --json, as one `target`."""
    return of_draft(_with_options(function))


def with_project_target(function: Callable[..., R]) -> Callable[..., R]:
    """Give a command the same options without --draft."""
    return _with_options(function)


def _with_options(function: Callable[..., R]) -> Callable[..., R]:
    @of_project
    @of_server
    @as_json_option
    @wraps(function)
    def wrapped(
        *args: Any, project: str | None, server: str, as_json: bool, draft: str | None = None,
        **more: Any,
    ) -> R:  # fmt: skip
        return function(*args, target=ProjectTarget(project, draft, server, as_json), **more)

    return wrapped


def describe_started(job: str) -> str:
    """Return the message about a new job."""
    return f"started {printable(job)}; 'bbops jobs show {printable(job)}' follows it"


limit_option = click.option(
    "--limit", default=100, show_default=True, type=click.IntRange(1, 1_000),
    help="How many are listed.",
)  # fmt: skip


Item = TypeVar("Item")


def print_list(
    items: Sequence[Item], line: Callable[[Item], str], *, none: str = "", as_json: bool
) -> None:
    """Print items in their order.

    Args:
        line: returns the text of an item; its lines after the first are indented.
        none: the text for an empty list, unless JSON is printed.
    """
    if as_json:
        say(msgspec.json.encode(items).decode())
        return
    for item in items:
        say(line(item))
    if none and not items:
        say(none)


yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


def confirm(question: str) -> bool:
    """Print a question on stderr, and return its answer.

    Raises:
        BbopsError: the input ends without an answer, as in a script.
        click.Abort: the user interrupts the question.
    """
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        if sys.stdin.isatty():
            raise
    click.echo(err=True)
    raise BbopsError("the question has no answer: the input is empty", hint="add --yes")
