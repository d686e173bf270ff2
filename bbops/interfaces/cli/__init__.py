"""The `bbops` command: one module per command, imported only when it is called."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

OLDEST_PYTHON = (3, 11)
INTERRUPTED = 130


def start() -> None:
    """Run the command line as a program of its own, and end the process at once.

    Unloading all imported modules takes longer than many commands.
    """
    try:
        main()
    except SystemExit as exit_request:
        if not isinstance(exit_request.code, int | None):
            raise
        with suppress(OSError, ValueError):  # the reader has closed the pipe
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(exit_request.code or 0)


def main() -> None:
    """Run the command line and exit: 0 success, 1 problems found, 2 the command could not run."""
    problem = check_python(sys.version_info[:2])
    if problem:
        sys.exit(problem)
    try:
        from bbops.interfaces.cli._root_group import RootGroup  # noqa: PLC0415 - newer syntax than the check needs

        _escape_unprintable_text()
        RootGroup("bbops")()
    except KeyboardInterrupt:  # before the first command has begun
        sys.exit(INTERRUPTED)


def check_python(version: tuple[int, int]) -> str:
    """Return the reason why this Python cannot run bbops; empty if it can."""
    if version >= OLDEST_PYTHON:
        return ""
    current, oldest = (".".join(map(str, pair)) for pair in (version, OLDEST_PYTHON))
    hint = f"reinstall bbops with Python {oldest} or newer"
    return f"error: Python {current} is too old, expected {oldest} or newer\n    hint: {hint}"


def _escape_unprintable_text() -> None:
    """Escape characters that the terminal cannot print, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
