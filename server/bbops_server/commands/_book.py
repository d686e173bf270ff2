"""The book of accounts of a state folder, for commands on the server's own machine."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bbops.base.errors import ServerError
from bbops_server.commands._env_values import read_piped
from bbops_server.commands._projects import read_note, require_project, state_of
from bbops_server.process.host.files import CONTROL_FILE

if TYPE_CHECKING:
    from bbops_server.accounts.book import Book
    from bbops_server.accounts.people import Person

LOCAL = "local"
"""The user of commands in the audit log."""

as_json = click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")


def find_state(state: Path | None) -> Path:
    """Return a server's state folder.

    Raises:
        ServerError: it is not given and not found, or does not exist.
    """
    require_project(state)
    folder = state_of(state)
    if not folder.is_dir():
        hint = "start it with 'bbops serve', or give --state DIR"
        raise ServerError(f"there is no state folder '{folder}'", hint=hint)
    return folder


@contextmanager
def open_book(state: Path | None) -> Iterator[Book]:
    """Open the book, which a running server may use, too. Raises as `find_state`."""
    from bbops_server.accounts.book import Book  # noqa: PLC0415 - SQLAlchemy: 400 ms

    folder = find_state(state)
    accounts = read_note(folder / CONTROL_FILE, "accounts are")
    book = Book.open(folder, postgres=accounts)
    try:
        yield book
    finally:
        book.close()


def find_person(book: Book, email: str) -> Person:
    """Return a user by address.

    Raises:
        ServerError: there is no such account.
    """
    person = book.people.get(email)
    if person is None or "@" not in email:
        raise ServerError(f"there is no account for '{email}'", hint="see 'bbops users list'")
    return person


def read_password(*, generate: bool) -> tuple[str, bool]:
    """Return a password: typed twice, the whole of a pipe, or a new one, and whether it is new."""
    if generate:
        from bbops_server.process.host.system import SystemRandom  # noqa: PLC0415 - only for this

        return SystemRandom().token(20), True
    if sys.stdin.isatty():
        return str(click.prompt("Password", hide_input=True, confirmation_prompt=True)), False
    return read_piped(2_000), False


def tell(text: str, *, as_json: bool, **data: Any) -> None:
    """Print the outcome."""
    click.echo(json.dumps(data) if as_json else text)


def read_running(state: Path | None) -> dict[str, str]:
    """Return {"url", "shown", "token"} of the server that runs on a state folder, if one does."""
    try:
        found = json.loads((find_state(state) / "control.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
