"""The `bbops` command: one module per command, imported only when it is called."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

OLDEST_PYTHON = (3, 11)
INTERRUPTED = 130


def start() -> None:
    """Run the command line as a program of its own, which then ends at once.

    To take down all that was imported takes longer than many a command.
    """
    try:
        main()
    except SystemExit as ended:
        if not isinstance(ended.code, int | None):
            raise
        with suppress(OSError, ValueError):  # nobody reads any more
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(ended.code or 0)


def main() -> None:
    """Run the command line and exit: 0 fine, 1 findings, 2 could not run."""
    complaint = python_complaint(sys.version_info[:2])
    if complaint:
        sys.exit(complaint)
    try:
        from bbops.interfaces.cli._group import Commands  # noqa: PLC0415 - newer syntax than the check needs

        _forgive_odd_text()
        Commands("bbops")()
    except KeyboardInterrupt:  # before the first command could begin
        sys.exit(INTERRUPTED)


def python_complaint(version: tuple[int, int]) -> str:
    """Return why this Python cannot run bbops; empty when it can."""
    if version >= OLDEST_PYTHON:
        return ""
    found, wanted = (".".join(map(str, pair)) for pair in (version, OLDEST_PYTHON))
    cure = f"reinstall bbops with Python {wanted} or newer"
    return f"error: Python {found} is too old, expected {wanted} or newer\n    hint: {cure}"


def _forgive_odd_text() -> None:
    """Print a file name or sign that the terminal cannot show as an escape instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
