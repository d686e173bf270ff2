"""A group of commands whose help says of each what it is for, as long as that takes."""

from __future__ import annotations

from typing import Final

import click

_WHOLE: Final = 1_000
"""Characters: more than any first sentence has."""

_DEFAULTS: Final = ("list", "show", "status")
"""The command of a group that runs without its name: the first that the group has."""

_MEANT: Final = {
    "create": ("issue", "new", "add"), "new": ("issue", "add", "init"), "add": ("issue", "invite"),
    "delete": ("revoke", "remove", "rm"), "remove": ("revoke", "rm"), "ls": ("list",),
}  # fmt: skip
"""What a command may be called where another word is usual."""


class MeantCommand(click.exceptions.NoSuchCommand):
    """There is no such command, and another does what its name says: `meant`, with its group."""

    def __init__(self, name: str, meant: str, ctx: click.Context) -> None:
        super().__init__(name, ctx=ctx)
        self.meant = meant


class Family(click.Group):
    """A group that lists when no command is given, and whose help wraps lines, where click cuts.

    `bbops jobs --json` is `bbops jobs list --json`; a group that lists nothing shows its help.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; options of the group's `list` may stand without its name."""
        is_bare = not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names)
        default = next((name for name in _DEFAULTS if name in self.commands), "")
        if is_bare and default and not ctx.resilient_parsing:
            args = [default, *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that was asked for.

        Raises:
            MeantCommand: with the command that does what the name says.
        """
        meant = [one for one in _MEANT.get(args[0], ()) if one in self.commands]
        if args[0] in self.commands or not meant or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        raise MeantCommand(args[0], f"{ctx.command_path} {meant[0]}", ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each command and the first sentence about it."""
        every = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, one.get_short_help_str(_WHOLE)) for name, one in every if one is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
