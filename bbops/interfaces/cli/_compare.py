"""Commands that compare: they exit with 0 without changes, 2 with changes, 1 after a failure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

CHANGED_EXIT_CODE = 2

NO_RECORDINGS = (
    "nothing to replay: no recorded request has its response",
    "    hint: write 'history: full' in an endpoint's file; its requests are recorded from then on",
)
"""Lines for a project without recorded requests, or whose endpoints record no responses."""


@contextmanager
def _exiting_with_1() -> Iterator[None]:
    """Make every failure exit with 1: 2 stands for changes."""
    try:
        yield
    except click.exceptions.Exit:
        raise
    except Exception as error:
        error.exit_code = 1  # type: ignore[attr-defined]
        raise


class CompareCommand(click.Command):
    """A command whose failures exit with 1."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Read the arguments."""
        with _exiting_with_1():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _exiting_with_1():
            return super().invoke(ctx)
