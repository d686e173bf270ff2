"""Watch projects go through the stages of a publication, until Ctrl-C."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, TypeVar

import click

from bbops.base.console import open_console, say
from bbops.base.errors import ServerError
from bbops.base.render import printable

if TYPE_CHECKING:
    from rich.table import Table

    from bbops.interfaces.answers import ProjectCondition, Status

POLL_SECONDS = 0.1

T = TypeVar("T")
Show = Callable[[Sequence["Status"]], None]


def watch(read: Callable[[], T], show: Callable[[T], None]) -> T:
    """Show a value, and again after each change, until Ctrl-C; return the last value.

    If the server becomes unreachable, keep trying.

    Raises:
        ServerError: the server was never reached.
    """
    value = read()
    show(value)
    with suppress(KeyboardInterrupt):
        for newer in _poll(read):
            if newer != value:
                value = newer
                show(value)
    return value


def _poll(read: Callable[[], T]) -> Iterator[T]:
    is_lost = False
    while True:
        time.sleep(POLL_SECONDS)  # the server sends no notifications
        try:
            yield read()
            is_lost = False
        except ServerError as error:
            if not is_lost:
                click.echo(f"{printable(error.message)}; retrying", err=True)
            is_lost = True


def choose_view(
    draw: Callable[[Sequence[Status]], Table],
    select: Callable[[Status], list[ProjectCondition]],
    stack: ExitStack,
    *,
    as_json: bool,
) -> Show:
    """Return a function that shows changes: as a table in a terminal, else as lines.

    Args:
        draw: returns the table.
        select: returns the conditions of a project that get a line.
        stack: closes the table at the end.
        as_json: print an object for each project that has changed.
    """
    if as_json:
        return _ChangePrinter(_print_json)
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        return _ChangePrinter(
            lambda old, new: _print_lines(select(old) if old else [], select(new), new.name)
        )
    from rich.live import Live  # noqa: PLC0415 - only for this

    live = stack.enter_context(Live(console=open_console(is_screen=True), auto_refresh=False))
    return lambda statuses: live.update(draw(statuses), refresh=True)


class _ChangePrinter:
    """Prints the changes of each project."""

    def __init__(self, print_change: Callable[[Status | None, Status], None]) -> None:
        self._print_change = print_change
        self._last: dict[str, Status] = {}

    def __call__(self, statuses: Sequence[Status]) -> None:
        for status in statuses:
            old = self._last.get(status.name)
            if status != old:
                self._print_change(old, status)
        self._last = {status.name: status for status in statuses}


def _print_json(old: Status | None, new: Status) -> None:
    import msgspec  # noqa: PLC0415 - only for this

    del old
    say(json.dumps(msgspec.to_builtins(new)))


def _print_lines(
    old: Sequence[ProjectCondition], new: Sequence[ProjectCondition], name: str
) -> None:
    known = {_facts(condition) for condition in old}
    for condition in new:
        if _facts(condition) not in known:
            state = condition.type if condition.status else f"not {condition.type}"
            words = (
                time.strftime("%H:%M:%S"), name, state, condition.reason, condition.message
            )  # fmt: skip
            say("  ".join(printable(word) for word in words if word))


def _facts(condition: ProjectCondition) -> tuple[str, bool, str, str]:
    return condition.type, condition.status, condition.reason, condition.message
