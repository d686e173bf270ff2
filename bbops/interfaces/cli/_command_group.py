"""Help of commands: a group that prints whole first sentences, and examples of a command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import click

_UNLIMITED: Final = 1_000
"""Characters: longer than any first sentence."""

_DEFAULTS: Final = ("list", "show", "status")
"""The command that a group runs without a name: the first of these that it has."""

_SYNONYMS: Final = {
    "create": ("issue", "new", "add"), "new": ("issue", "add", "init"), "add": ("issue", "invite"),
    "delete": ("revoke", "remove", "rm"), "remove": ("revoke", "rm"), "ls": ("list",),
}  # fmt: skip
"""Commands that may stand for a usual word which a group does not have."""


class SynonymError(click.exceptions.NoSuchCommand):
    """A command does not exist, but another one does what the name says: `suggestion`."""

    def __init__(self, name: str, suggestion: str, ctx: click.Context) -> None:
        super().__init__(name, ctx=ctx)
        self.suggestion = suggestion


class CommandGroup(click.Group):
    """A group that runs `list` without a command, and whose help wraps long lines.

    Click would cut them. `bbops jobs --json` is `bbops jobs list --json`; a group without a list
    shows its help.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; options without a command belong to the group's `list`."""
        is_bare = not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names)
        default = next((name for name in _DEFAULTS if name in self.commands), "")
        if is_bare and default and not ctx.resilient_parsing:
            args = [default, *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command with the given name.

        Raises:
            SynonymError: the group has a command with another name for the same action.
        """
        synonyms = [name for name in _SYNONYMS.get(args[0], ()) if name in self.commands]
        if args[0] in self.commands or not synonyms or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        raise SynonymError(args[0], f"{ctx.command_path} {synonyms[0]}", ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each command with its first sentence."""
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [
            (name, command.get_short_help_str(_UNLIMITED))
            for name, command in commands if command is not None
        ]  # fmt: skip
        with formatter.section("Commands"):
            formatter.write_dl(rows)


# ---- Add examples to the end of a command's help
# A test parses each example, and runs those that need no server.

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
