"""A NUL character in a text is refused on both databases, with the name of its field."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bbops.runtime.values.formats import HAS_NUL
from tests.support.postgres import DATABASES, place_of
from tests.support.workbench import Bench

NOTES = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  title: { type: string, nullable: true }
  code: { type: string, maxLength: 9, nullable: true }
  body: { type: text, nullable: true }
  more: { type: json, nullable: true }
"""


@pytest.fixture(params=DATABASES)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    with place_of(request, tmp_path) as place, Bench(place, {"tables/notes.yaml": NOTES}) as found:
        yield found


@pytest.mark.parametrize("of", ["string", "text", "string[]"])
def test_declared_text_with_nul_names_its_field(bench: Bench, of: str) -> None:
    client = bench.client(f"input: {{ note: '{of}' }}\nsteps:\n  - log: {{ message: a }}\n")
    note, field = (["a", "b\0"], "note.1") if of == "string[]" else ("a\0", "note")
    reply = bench.ask(client, {"note": note})
    assert (reply.status, reply.json["error"]["fields"]) == (400, {field: [HAS_NUL]})


def test_query_text_with_nul_names_its_field(bench: Bench) -> None:
    client = bench.client("query: { word: string }\nsteps:\n  - log: { message: a }\n")
    reply = bench.ask(client, query="word=a%00b")
    assert (reply.status, reply.json["error"]["fields"]) == (400, {"word": [HAS_NUL]})


@pytest.mark.parametrize("column", ["title", "code", "body"])
@pytest.mark.parametrize("step", [
    "insert: { table: notes, data: { COLUMN: '${ input.note }' } }",
    "insert: { table: notes, data: '${ input.row }' }",
    "update: { table: notes, where: true, data: { COLUMN: '${ input.note }' } }",
])  # fmt: skip
def test_written_text_with_nul_names_its_column(bench: Bench, step: str, column: str) -> None:
    function = f"input: {{ note: json, row: json }}\nsteps:\n  - {step}\n"
    client = bench.client(function.replace("COLUMN", column))
    reply = bench.ask(client, {"note": "a\0", "row": {column: "a\0"}})
    assert (reply.status, reply.json["error"]["fields"]) == (400, {column: [HAS_NUL]})
    assert bench.sql("SELECT count(*) FROM notes") == [(0,)]


def test_json_column_keeps_nul(bench: Bench) -> None:
    function = (
        "input: { any: json }\nsteps:\n"
        "  - insert: { table: notes, data: { more: '${ input.any }' } }\n    as: row\n"
        "  - return: { value: '${ vars.row.more }' }\n"
    )
    assert bench.run(function, {"any": ["a\0"]}) == ["a\0"]
