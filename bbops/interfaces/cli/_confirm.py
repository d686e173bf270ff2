"""The question before a command that changes many things at once, and its option --yes."""

from __future__ import annotations

import sys

import click

from bbops.base.errors import BbopsError

yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


def confirm(question: str) -> bool:
    """Print a question on stderr, and return its answer.

    Raises:
        BbopsError: the input ends without an answer, as in a script.
        click.Abort: the user interrupts the question.
    """
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        if sys.stdin.isatty():
            raise
    click.echo(err=True)
    raise BbopsError("the question has no answer: the input is empty", hint="add --yes")
