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

    from bbops.interfaces.answers import Condition, Status

LOOK_SECONDS = 0.1

T = TypeVar("T")
Show = Callable[[Sequence["Status"]], None]


def watch(ask: Callable[[], T], show: Callable[[T], None]) -> T:
    """Show what there is, and again whenever it changes, until Ctrl-C; return the last of it.

    A server that is out of reach meanwhile is waited for.

    Raises:
        ServerError: it was never reached.
    """
    found = ask()
    show(found)
    with suppress(KeyboardInterrupt):
        for newer in _ask_again(ask):
            if newer != found:
                found = newer
                show(found)
    return found


def _ask_again(ask: Callable[[], T]) -> Iterator[T]:
    is_lost = False
    while True:
        time.sleep(LOOK_SECONDS)  # the server answers questions, and tells nothing unasked
        try:
            yield ask()
            is_lost = False
        except ServerError as error:
            if not is_lost:
                click.echo(f"{printable(error.message)}; retrying", err=True)
            is_lost = True


def choose_view(
    draw: Callable[[Sequence[Status]], Table],
    tell: Callable[[Status], list[Condition]],
    stack: ExitStack,
    *,
    as_json: bool,
) -> Show:
    """Return how changes are shown: a table that stays in place in a terminal, else lines.

    Args:
        draw: makes the table.
        tell: returns the conditions of a project that are worth a line.
        stack: what is closed when the watching ends.
        as_json: one object for each project that has changed.
    """
    if as_json:
        return _Changes(_say_json)
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        return _Changes(lambda old, new: _say_lines(tell(old) if old else [], tell(new), new.name))
    from rich.live import Live  # noqa: PLC0415 - only for this

    live = stack.enter_context(Live(console=open_console(is_screen=True), auto_refresh=False))
    return lambda found: live.update(draw(found), refresh=True)


class _Changes:
    """Says what is new of each project."""

    def __init__(self, say_new: Callable[[Status | None, Status], None]) -> None:
        self._say_new = say_new
        self._seen: dict[str, Status] = {}

    def __call__(self, found: Sequence[Status]) -> None:
        for one in found:
            old = self._seen.get(one.name)
            if one != old:
                self._say_new(old, one)
        self._seen = {one.name: one for one in found}


def _say_json(old: Status | None, new: Status) -> None:
    import msgspec  # noqa: PLC0415 - only for this

    del old
    say(json.dumps(msgspec.to_builtins(new)))


def _say_lines(old: Sequence[Condition], new: Sequence[Condition], name: str) -> None:
    known = {(one.type, one.status, one.reason, one.message) for one in old}
    for one in new:
        if (one.type, one.status, one.reason, one.message) not in known:
            state = one.type if one.status else f"not {one.type}"
            words = (time.strftime("%H:%M:%S"), name, state, one.reason, one.message)
            say("  ".join(printable(word) for word in words if word))
