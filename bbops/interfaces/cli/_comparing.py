"""Commands that compare: 0 says that nothing changes, 2 that something does, 1 that all failed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

CHANGES = 2

NOTHING_KEPT = (
    "nothing to replay: no recorded request has its response",
    "    hint: write 'history: full' in an endpoint's file; its requests are recorded from then on",
)
"""Lines for a project whose endpoints keep no answers, or that nobody has asked yet."""


@contextmanager
def _failing_with_1() -> Iterator[None]:
    """Have every failure exit with 1: 2 says here that there are changes."""
    try:
        yield
    except click.exceptions.Exit:
        raise
    except Exception as error:
        error.exit_code = 1  # type: ignore[attr-defined]
        raise


class Comparing(click.Command):
    """A command whose failures exit with 1."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Read the arguments."""
        with _failing_with_1():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run it."""
        with _failing_with_1():
            return super().invoke(ctx)
