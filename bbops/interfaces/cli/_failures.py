"""Turn the outcome of a command into an exit code, and its failure into a message on stderr."""

from __future__ import annotations

import os
import re
import secrets
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from bbops.base.console import wants_color
from bbops.base.errors import BbopsError, ProjectError
from bbops.base.render import printable, render
from bbops.interfaces.cli import INTERRUPTED
from bbops.interfaces.cli._command_group import SynonymError

COULD_NOT_RUN = 2
_RUNNERS = ("GITHUB_ACTIONS", "GITEA_ACTIONS", "FORGEJO_ACTIONS")
"""Variables of runners that read workflow commands, such as `::error …`, from the output."""
CLOSED_PIPE = 141
"""The exit code that a shell reports for a program ended by SIGPIPE."""
DEBUG = "BBOPS_DEBUG"


class ClosedPipe(Exception):
    """The reader of standard output has closed it, as in `bbops … | head`."""


def run(call: Callable[[], object]) -> int:
    """Run a command and return its exit code: the whole number that it returns, else 0."""
    try:
        result = call()
        sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except (BrokenPipeError, ClosedPipe):
        _discard_stdout()
        return CLOSED_PIPE
    except Exception as error:  # noqa: BLE001 - the last place that can explain it
        with _stopped_commands():
            return _report(error)
    return result if type(result) is int else 0


@contextmanager
def _stopped_commands() -> Iterator[None]:
    """Keep the runner of a workflow from commands in an error, which may quote a project."""
    token = secrets.token_hex(16) if any(map(os.environ.get, _RUNNERS)) else ""
    if token:
        click.echo(f"::stop-commands::{token}", err=True)
    yield
    if token:
        click.echo(f"::{token}::", err=True)


def _report(error: Exception) -> int:
    """Print the error and return the exit code."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return error.exit_code
    if isinstance(error, ProjectError):
        text = render(error.diagnostics, "text", color=wants_color(sys.stderr))
        click.echo(text, err=True, color=wants_color(sys.stderr))
        return error.exit_code
    if isinstance(error, click.ClickException):
        _print_error(*_describe_click_error(error))
        return error.exit_code
    if isinstance(error, BbopsError):
        _print_error(error.message, error.hint)
        return error.exit_code
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    _print_error(*_describe_unexpected_error(error))
    code: int = getattr(error, "exit_code", COULD_NOT_RUN)
    return code


def _print_error(message: str, hint: str) -> None:
    color = wants_color(sys.stderr)
    click.echo(
        click.style("error:", fg="red", bold=True) + f" {printable(message)}", err=True, color=color
    )
    if hint:
        click.echo(
            click.style("    hint:", dim=True) + f" {printable(hint)}", err=True, color=color
        )


def _describe_click_error(error: click.ClickException) -> tuple[str, str]:
    """Return click's message in our spelling, and a hint."""
    text, hint = error.format_message(), ""
    if isinstance(error, SynonymError):
        hint = f"did you mean '{error.suggestion}'?"
    elif isinstance(error, click.exceptions.NoSuchCommand | click.exceptions.NoSuchOption):
        text, near = error.message, error.possibilities or ()
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else ""
    context = getattr(error, "ctx", None)
    if not hint and context is not None:
        hint = f"see '{context.command_path} --help'"
    text = re.sub(r"a valid integer( range)?\b", "a whole number", text)
    return text[:1].lower() + text[1:].removesuffix("."), hint


def _describe_unexpected_error(error: Exception) -> tuple[str, str]:
    if isinstance(error, OSError) and error.strerror:
        where = f" '{error.filename}'" if error.filename else ""
        return f"the system refused{where}: {error.strerror.lower()}", ""
    how = f"set {DEBUG}=1 to see the traceback"
    return f"{type(error).__name__}: this is a bug in bbops; {how}", ""


def _discard_stdout() -> None:
    """Keep Python from flushing buffered output to the closed pipe at its end."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(devnull, sys.stdout.fileno())
    except (OSError, ValueError):
        return
    finally:
        os.close(devnull)
