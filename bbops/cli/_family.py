"""A group of commands whose help says of each what it is for, as long as that takes."""

from __future__ import annotations

from typing import Final

import click

_WHOLE: Final = 1_000
"""Characters: more than any first sentence has."""


class Family(click.Group):
    """A group whose list of commands wraps lines, where click cuts them."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each command and the first sentence about it."""
        every = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, one.get_short_help_str(_WHOLE)) for name, one in every if one is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
