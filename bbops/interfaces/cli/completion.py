"""Complete commands and options in bash, zsh and fish."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click
from click.shell_completion import get_completion_class

from bbops.base.console import say
from bbops.base.errors import BbopsError
from bbops.base.render import printable
from bbops.interfaces.cli._command_group import examples

_LINES: Final = {
    "bash": 'command -v bbops >/dev/null && eval "$(bbops completion bash)"',
    "zsh": 'command -v bbops >/dev/null && eval "$(bbops completion zsh)"',
    "fish": "command -q bbops && bbops completion fish | source",
}
"""The line for each shell's startup file; it generates the script, so updates keep the line."""


@examples("bbops completion bash --install", "bbops completion zsh")
@click.command()
@click.argument("shell", type=click.Choice(list(_LINES)))
@click.option("--install", is_flag=True, help="Add it to the shell's startup file.")
@click.pass_context
def command(ctx: click.Context, shell: str, *, install: bool) -> None:
    """Print the script that completes commands and options in SHELL.

    With --install, a line that runs it is added to ~/.bashrc, ~/.zshrc or fish's completions,
    unless it is already there.
    """
    if install:
        _print_installed(*_install(shell))
    else:
        say(_script(ctx.find_root(), shell).rstrip("\n"))


def _script(root: click.Context, shell: str) -> str:
    kind = get_completion_class(shell)
    if kind is None:
        raise BbopsError(
            f"this version of click does not support completion in {shell}", hint="update click"
        )
    return kind(root.command, {}, "bbops", "_BBOPS_COMPLETE").source()


def _install(shell: str) -> tuple[Path, bool]:
    """Return the file with the line, and whether the line was added."""
    file, line = _file_of(shell), _LINES[shell].encode()
    text = file.read_bytes() if file.exists() else b""
    if line in (existing.strip() for existing in text.splitlines()):
        return file, False
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab") as end:  # in place: the file may be a link, and keeps its mode
        end.write((b"\n" if text and not text.endswith(b"\n") else b"") + line + b"\n")
    return file, True


def _file_of(shell: str) -> Path:
    home = Path("~").expanduser()
    if shell == "bash":
        return home / ".bashrc"
    if shell == "zsh":
        return Path(os.environ.get("ZDOTDIR") or home) / ".zshrc"
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return config / "fish/completions/bbops.fish"


def _print_installed(file: Path, added: bool) -> None:
    where = f"'{printable(str(file))}'"
    if added:
        say(f"added completion to {where}; open a new terminal to use it")
    else:
        say(f"completion is already in {where}")
