"""Render an entry of the reference as Markdown, for pages, `bbops explain` and the editor."""

from __future__ import annotations

import json
from collections.abc import Iterator

from bbops.language.reference._entry import (
    DatabaseDifference,
    Entry,
    Sample,
    ValueExample,
    as_literal,
)

_PLACES = {
    "authors": "In `where` and `select`, over the rows that refer to a row",
    "values": "In `values` of `aggregate`, over the rows of each group",
    "books": "In `select`, over all rows that are found",
}


def as_markdown(entry: Entry) -> str:
    """Return everything that an entry says, without its name."""
    return "\n\n".join(filter(None, _parts(entry)))


def example_line(example: ValueExample) -> str:
    """Return an example on one line, with its result."""
    return f"{example.expression}  →  {as_literal(example.result)}"


def _parts(entry: Entry) -> Iterator[str]:
    yield _code(entry.signature, "text")
    yield entry.summary
    if entry.example is not None:
        yield _code(example_line(entry.example))
    if entry.group == "type" and entry.samples:
        yield _code("\n".join(map(_stored, entry.samples)))
    yield entry.decimals
    if entry.decimal_examples:
        yield _code("\n".join(map(example_line, entry.decimal_examples)))
    yield entry.columns
    if entry.group != "type" and entry.samples:
        yield _code("\n".join(map(_selected, entry.samples)))
    for example in entry.query_examples:
        result = as_literal(example.results)
        yield f"{_PLACES[example.place]}:\n\n{_code(f'{example.expression}  →  {result}')}"
    if entry.storage:
        stored = (f"`{of}` on {database}" for database, of in entry.storage.items())
        yield f"Stored as {' and '.join(stored)}."
    if entry.difference is not None:
        yield from _difference(entry.difference)
    for title, rows in (entry.tables or {}).items():
        yield f"{title}:\n\n{_table(rows)}"


def _difference(difference: DatabaseDifference) -> Iterator[str]:
    yield f"**SQLite and PostgreSQL differ.** {difference.text}"
    if (sample := difference.sample) is not None:
        found = (("SQLite", sample.result), ("PostgreSQL", difference.on_postgres))
        lines = (f"{sample.expression}  →  {_result(result)} on {name}" for name, result in found)
        yield _code("\n".join([_column(sample), *lines]))


def _stored(sample: Sample) -> str:
    return f"{_json(sample.given)}  →  {_result(sample.result)}"


def _selected(sample: Sample) -> str:
    return f"{_column(sample)}\n{sample.expression}  →  {_json(sample.result)}"


def _column(sample: Sample) -> str:
    return f"value: {sample.column_type} {_json(sample.given)}"


def _result(value: object) -> str:
    return f"status {value}" if type(value) is int and value in {400, 500} else _json(value)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _table(rows: tuple[tuple[str, ...], ...]) -> str:
    head, *others = rows
    lines = [head, ("---",) * len(head), *others]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _code(text: str, language: str = "") -> str:
    return f"```{language}\n{text}\n```"
