"""Find the commands and their summaries without importing their modules."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from importlib.util import find_spec
from pathlib import Path

import click

from bbops.base.errors import BbopsError
from bbops.interfaces import cli

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
