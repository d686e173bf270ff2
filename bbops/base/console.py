"""Output of commands, with colour on terminals, and with rich if it is needed."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TextIO

import click

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_PIPE_WIDTH = 100_000


def wants_color(stream: TextIO) -> bool:
    """Return whether to colour the output: it goes to a terminal, and no variable forbids it."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def say(text: str) -> None:
    """Print text to stdout, without colours if they are not wanted."""
    click.echo(text, color=wants_color(sys.stdout))


def show(thing: RenderableType) -> None:
    """Print a renderable of rich to stdout; a pipe gets whole lines of any length."""
    console = open_console()
    with console.capture() as captured:
        console.print(thing)
    lines = (line.rstrip() for line in captured.get().splitlines())
    say("\n".join(lines))


def open_console(*, is_screen: bool = False) -> Console:
    """Return a rich Console for stdout that does not read markup in texts.

    `is_screen` is for output that moves the cursor, which needs a terminal but no colours.
    """
    from rich.console import Console  # noqa: PLC0415 - 30 ms that most commands do not need

    color = wants_color(sys.stdout)
    return Console(
        width=None if sys.stdout.isatty() else _PIPE_WIDTH,
        force_terminal=color or is_screen, no_color=not color,
        markup=False, emoji=False, highlight=False,
    )  # fmt: skip
