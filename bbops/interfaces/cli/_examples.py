"""Show at the end of a command's help how it is typed.

Each example is parsed by a test, and those that need no server are run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import click

C = TypeVar("C", bound=click.Command)

_HEAD: Final = "\b\nExamples:\n"
"""`\\b` lets click keep the lines as they are."""


def examples(*lines: str) -> Callable[[C], C]:
    """Add to a command's help how it is typed: whole lines, such as `bbops fmt --check`."""

    def add(command: C) -> C:
        command.epilog = _HEAD + "\n".join(f"  {line}" for line in lines)
        return command

    return add


def examples_of(command: click.Command) -> list[str]:
    """Return the lines that `examples` has added; none where it was not called."""
    _, found, lines = (command.epilog or "").partition(_HEAD)
    return [line.strip() for line in lines.splitlines()] if found else []
