"""The `bbops` group: the sections of `bbops --help`, and the import of each command."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from bbops import __version__
from bbops.base.errors import BbopsError
from bbops.interfaces import cli
from bbops.interfaces.cli._failures import ClosedPipe, run

ABOUT = (
    "bbops runs backends that live in git: YAML files in a repository become a live API, "
    "and a commit changes it."
)
SECTIONS = {
    "Write": (
        "init", "new", "addon", "set", "mv", "copy", "rm", "fmt", "validate", "test", "plan", "dev",
        "describe", "contract", "lsp",
    ),
    "Propose": ("propose", "proposals", "drafts", "ci"),
    "Serve": (
        "serve", "status", "requests", "replay", "jobs", "tasks", "events",
        "deliveries", "receivers", "agents", "env", "keys", "db", "frontend",
        "hooks",
        "accept", "reconcile",
    ),
    "Go back": ("versions", "history", "diff", "rollback", "suspend", "resume"),
    "People": ("login", "logout", "whoami", "users", "workspace"),
    "Agents": ("mcp",),
    "Learn": ("demo", "doctor", "explain", "schema", "completion"),
}  # fmt: skip
MORE = "More"
"""The title for commands that are in no section."""
FIRST_STEPS = (
    ("bbops init my-backend", "Make a project with accounts and notes"),
    ("bbops dev my-backend", "Run it, and see every change as you save it"),
)


class RootGroup(click.Group):
    """A group whose commands are modules, imported when they are called."""

    def __init__(self, name: str) -> None:
        super().__init__(name, help=ABOUT, context_settings={"help_option_names": ["-h", "--help"]})
        self.params.append(_version_option())

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of all commands."""
        return sorted(_modules())

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        cmd_name: str,
    ) -> click.Command | None:
        """Import one command."""
        module = own_commands().get(cmd_name) or added_commands().get(cmd_name)
        return load_command(cmd_name, module) if module else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command with the given name.

        Raises:
            click.exceptions.NoSuchCommand: with similar names.
        """
        name = args[0]
        command = self.get_command(ctx, name)
        if command is None and not ctx.resilient_parsing and not name.startswith("-"):
            raise click.exceptions.NoSuchCommand(name, possibilities=_modules(), ctx=ctx)
        return (name, command, args[1:]) if command else super().resolve_command(ctx, args)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        formatter: click.HelpFormatter,
    ) -> None:
        """Write the commands by section, then the first steps."""
        lines = {name: help_line(module) for name, module in _modules().items()}
        widest = max(map(len, lines))
        for title, names in _sections(lines).items():
            _write(formatter, title, [(_padded(n, lines[n], widest), lines[n]) for n in names])
        _write(formatter, "First steps", FIRST_STEPS)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the chosen command.

        Raises:
            ClosedPipe: the reader has closed the pipe; click would exit as if problems were found.
        """
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ClosedPipe from error

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: FBT002 - click's signature
        **extra: Any,
    ) -> Any:
        """Run; in click's stand-alone mode every failure becomes a message and an exit code."""

        def call() -> object:
            return super(RootGroup, self).main(
                args, prog_name or self.name, complete_var, standalone_mode=False, **extra
            )

        if not standalone_mode:
            return call()
        sys.exit(run(call))


def _modules() -> dict[str, str]:
    return {**added_commands(), **own_commands()}


def _sections(commands: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the installed commands by the title of their section."""
    in_sections = {name for names in SECTIONS.values() for name in names}
    sections = {**SECTIONS, MORE: tuple(sorted(set(commands) - in_sections))}
    installed = {
        title: [name for name in names if name in commands] for title, names in sections.items()
    }
    return {title: names for title, names in installed.items() if names}


def _write(formatter: click.HelpFormatter, title: str, rows: Sequence[tuple[str, str]]) -> None:
    with formatter.section(title):
        formatter.write_dl(rows, col_max=40)


def _padded(name: str, line: str, width: int) -> str:
    """Return a name padded to a width, so that sections line up; unpadded without a summary."""
    return name.ljust(width) if line else name


def _version_option() -> click.Option:
    def show(ctx: click.Context, _: click.Parameter, value: object) -> None:
        if value and not ctx.resilient_parsing:
            click.echo(f"bbops {__version__}")
            ctx.exit()

    return click.Option(
        ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=show,
        help="Show the version and exit.",
    )  # fmt: skip


# ---- Find the commands and their summaries without importing their modules

ENTRY_POINTS = "bbops.commands"


def own_commands() -> dict[str, str]:
    """Return the module of each command in `bbops.interfaces.cli`, by the command's name."""
    names = [module.name for module in pkgutil.iter_modules(cli.__path__)]
    return {
        _command_name(name): f"bbops.interfaces.cli.{name}"
        for name in names if not name.startswith("_")
    }  # fmt: skip


def added_commands() -> dict[str, str]:
    """Return the module of each command that an installed package adds."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - 10 ms that few commands need

    return {entry.name: entry.value for entry in entry_points(group=ENTRY_POINTS)}


def load_command(name: str, module: str) -> click.Command:
    """Import a command's module and return the command in it.

    Raises:
        BbopsError: an added command cannot be imported, or is not a click command.
    """
    if module.startswith(f"{cli.__name__}."):
        return _command_in(module)
    try:
        return _command_in(module)
    except (ImportError, AttributeError, TypeError) as error:
        raise BbopsError(
            f"command '{name}' cannot be loaded: {error}",
            hint=f"reinstall the package that provides '{module}' again",
        ) from error


def help_line(module: str) -> str:
    """Return the first line of a module's docstring, without its period; empty if unknown."""
    try:
        path = _find_file(module)
        tree = ast.parse(path.read_bytes()) if path else None
    except (OSError, SyntaxError, ValueError, ImportError):
        return ""
    text = ast.get_docstring(tree) if tree else None
    return text.partition("\n")[0].removesuffix(".") if text else ""


def _command_in(module: str) -> click.Command:
    command = importlib.import_module(module).command
    if not isinstance(command, click.Command):
        raise TypeError(f"'{module}.command' is not a click command")
    return command


def _find_file(module: str) -> Path | None:
    """Return a module's file. `find_spec` would import the packages around it, so search here."""
    top, *inner = module.split(".")
    spec = find_spec(top)
    if spec is None:
        return None
    if not inner:
        return Path(spec.origin) if spec.origin else None
    for folder in spec.submodule_search_locations or ():
        base = Path(folder, *inner)
        for candidate in (base.with_name(f"{base.name}.py"), base / "__init__.py"):
            if candidate.is_file():
                return candidate
    return None


def _command_name(module: str) -> str:
    return module.rstrip("_").replace("_", "-")
