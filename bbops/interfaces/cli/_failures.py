"""Turn how a command ended into an exit code, and into words on stderr where it failed."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable

import click

from bbops.base.console import wants_color
from bbops.base.errors import BbopsError, ProjectError
from bbops.base.render import printable, render
from bbops.interfaces.cli import INTERRUPTED
from bbops.interfaces.cli._family import MeantCommand

COULD_NOT_RUN = 2
CLOSED_PIPE = 141
"""What a shell reports of a program that SIGPIPE ended."""
DEBUG = "BBOPS_DEBUG"


class ClosedPipe(Exception):
    """Whoever read our output has gone, as in `bbops … | head`."""


def run(call: Callable[[], object]) -> int:
    """Run a command and return its exit code: the whole number it returns, else 0."""
    try:
        result = call()
        sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except (BrokenPipeError, ClosedPipe):
        _let_go_of_stdout()
        return CLOSED_PIPE
    except Exception as error:  # noqa: BLE001 - the last place that can explain it
        return _explain(error)
    return result if type(result) is int else 0


def _explain(error: Exception) -> int:
    """Print what went wrong and return the exit code."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return error.exit_code
    if isinstance(error, ProjectError):
        text = render(error.diagnostics, "text", color=wants_color(sys.stderr))
        click.echo(text, err=True, color=wants_color(sys.stderr))
        return error.exit_code
    if isinstance(error, click.ClickException):
        _complain(*_words_of_click(error))
        return error.exit_code
    if isinstance(error, BbopsError):
        _complain(error.message, error.hint)
        return error.exit_code
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    _complain(*_words_of_surprise(error))
    code: int = getattr(error, "exit_code", COULD_NOT_RUN)
    return code


def _complain(message: str, hint: str) -> None:
    color = wants_color(sys.stderr)
    click.echo(
        click.style("error:", fg="red", bold=True) + f" {printable(message)}", err=True, color=color
    )
    if hint:
        click.echo(
            click.style("    hint:", dim=True) + f" {printable(hint)}", err=True, color=color
        )


def _words_of_click(error: click.ClickException) -> tuple[str, str]:
    """Return click's message in our spelling, and where to read more."""
    text, hint = error.format_message(), ""
    if isinstance(error, MeantCommand):
        hint = f"did you mean '{error.meant}'?"
    elif isinstance(error, click.exceptions.NoSuchCommand | click.exceptions.NoSuchOption):
        text, near = error.message, error.possibilities or ()
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else ""
    context = getattr(error, "ctx", None)
    if not hint and context is not None:
        hint = f"see '{context.command_path} --help'"
    return text[:1].lower() + text[1:].removesuffix("."), hint


def _words_of_surprise(error: Exception) -> tuple[str, str]:
    if isinstance(error, OSError) and error.strerror:
        where = f" '{error.filename}'" if error.filename else ""
        return f"the system refused{where}: {error.strerror.lower()}", ""
    how = f"set {DEBUG}=1 to see the traceback"
    return f"{type(error).__name__}: this is a bug in bbops; {how}", ""


def _let_go_of_stdout() -> None:
    """Keep Python from writing what is left to the closed pipe when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):
        return
    finally:
        os.close(nowhere)
