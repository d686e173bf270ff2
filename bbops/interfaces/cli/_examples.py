"""Add examples to the end of a command's help.

A test parses each example, and runs those that need no server.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import click

C = TypeVar("C", bound=click.Command)

_HEADING: Final = "\b\nExamples:\n"
"""`\\b` makes click keep the line breaks."""


def examples(*lines: str) -> Callable[[C], C]:
    """Add examples to a command's help: whole lines, such as `bbops fmt --check`."""

    def add(command: C) -> C:
        command.epilog = _HEADING + "\n".join(f"  {line}" for line in lines)
        return command

    return add


def examples_of(command: click.Command) -> list[str]:
    """Return the lines that `examples` has added to a command; empty without any."""
    _, _, lines = (command.epilog or "").partition(_HEADING)
    return [line.strip() for line in lines.splitlines()]
