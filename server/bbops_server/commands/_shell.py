"""Take statements from an argument, a terminal or a pipe, and print what they give."""

from __future__ import annotations

import contextlib
import importlib
import json
import sqlite3
from collections.abc import Iterator
from typing import Any, TextIO

import click

from bbops.base.console import say, show
from bbops.base.errors import BbopsError
from bbops.base.render import printable
from bbops.database.files.by_hand import ByHand, StatementResult

TABLES = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite%'"
"""The statement behind `.tables`."""
WORDS = "statements end with ';'; '.tables' lists the tables, '.quit' or Ctrl-D ends"


def converse(database: ByHand, *, most: int) -> None:
    """Read statements from a terminal until the user ends it; errors do not."""
    with contextlib.suppress(ImportError):
        importlib.import_module("readline")  # which gives `input` a memory and keys to edit with
    say(WORDS)
    while (statement := _ask()) is not None:
        try:
            print_answer(database.run(statement, most=most), as_json=False)
        except BbopsError as error:
            say(f"{click.style('error:', fg='red', bold=True)} {printable(str(error))}")
        except KeyboardInterrupt:
            say("stopped")


def run_all(database: ByHand, lines: TextIO, *, most: int, as_json: bool) -> None:
    """Run the statements of a pipe in order, up to the first that fails.

    Raises:
        DatabaseError: one failed; those before it have run.
    """
    for statement in statements(lines):
        print_answer(database.run(statement, most=most), as_json=as_json)


def statements(lines: Iterator[str] | TextIO) -> Iterator[str]:
    """Yield the statements of a text, each of which ends with `;`, but the last need not."""
    text = ""
    for line in lines:
        text += line
        if sqlite3.complete_statement(text):
            yield text
            text = ""
    if text.strip():
        yield text


def print_answer(answer: StatementResult, *, as_json: bool) -> None:
    """Print rows as a table, or all as one line of JSON."""
    if as_json:
        click.echo(json.dumps(_told(answer), ensure_ascii=False))
        return
    if answer.columns:
        from rich.table import Table  # noqa: PLC0415 - only for this
        from rich.text import Text  # noqa: PLC0415

        table = Table(*map(printable, answer.columns), box=None)
        for row in answer.rows:
            table.add_row(*(Text(printable(_shown(value)), _style(value)) for value in row))
        show(table)
    say(_summary(answer))


def _ask() -> str | None:
    """Return a typed statement; None at the end of the input."""
    text = ""
    while True:
        try:
            line = input("bbops> " if not text else "  ...> ")
        except EOFError:
            say("")
            return None
        except KeyboardInterrupt:  # as in other shells: the typed line is dropped
            say("")
            text = ""
            continue
        if not text and line.strip() in {".quit", ".exit"}:
            return None
        if not text and line.strip() == ".tables":
            return TABLES
        text += f"{line}\n" if text or line.strip() else ""
        if sqlite3.complete_statement(text):
            return text


def _told(answer: StatementResult) -> dict[str, Any]:
    return {
        "columns": answer.columns,
        "rows": [[_plain(value) for value in row] for row in answer.rows],
        "changed": answer.changed,
        "is_cut": answer.is_cut,
    }


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    return f"x'{value.hex()}'" if isinstance(value, bytes) else str(value)


def _style(value: Any) -> str:
    return "dim" if value is None else ""


def _summary(answer: StatementResult) -> str:
    if answer.is_cut:
        return click.style(f"the first {len(answer.rows):,} rows; --limit N shows more", dim=True)
    count = len(answer.rows) if answer.columns and not answer.changed else answer.changed
    words = "1 row" if count == 1 else f"{count:,} rows"
    return click.style(
        words + (" changed" if answer.changed or not answer.columns else ""), dim=True
    )
