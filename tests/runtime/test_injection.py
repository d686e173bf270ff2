"""What clients send is a value wherever it stands: hostile texts change nothing and come back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbops.runtime.data.rows import LONGEST_SEARCHED
from tests.support.postgres import SLOW_DATABASES, place_of
from tests.support.workbench import Bench

FILES = {
    "tables/people.yaml": """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  name: { type: text }
  note: { type: text, default: "" }
  data: { type: json, nullable: true }
""",
    "tables/letters.yaml": """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  person_id: { type: integer, references: people.id, onDelete: cascade }
  body: { type: text }
""",
}
ROWS = 'SELECT "name", "note" FROM people ORDER BY id'
HOSTILE = [
    "'", '"', "`", "''", "\\'", "' OR '1'='1", "' OR 1=1 --", '" OR ""="', "1; DROP TABLE people",
    "'; DROP TABLE people; --", "x'); DELETE FROM people; --",
    "' UNION SELECT * FROM sqlite_master --",
    "') OR EXISTS (SELECT 1) --", "1 OR 1=1", "1) OR (1=1", "/* */", "/*", "--", "#", ";",
    "admin'/*", "' || (SELECT note FROM people) || '", "'+(SELECT 1)+'", "%27%20OR%201=1",
    "char(39)", "0x27", "NULL", "null", "None", "true", "{}", "[]", "${ env.JWT_SECRET }", "$${",
    "{{ name }}", "{0}", "%s", "%d", "%n", "?", "?1", ":name", "@name", "$name", "$1", "\\", "\\0",
    "%", "_", "%%", "*", "?*[a-z]", "[a-z]", "\r\n", "\n--\n", "\t", "\u2028", "\ufeff",
    "\u202e", "\u02bc", "\uff07", "\u00b4", "é\u0301", "İ", "ß", "日本語", "😀", "\U0010ffff",
    "1e309", "-0", "NaN", "Infinity", "9223372036854775808", "00", "1_000",
    "<script>alert(1)</script>", "../../etc/passwd", "__proto__", "constructor",
    "rowid", "oid", "_rowid_", "id", "name", "people", "sqlite_master",
    "a" * 5_000, "'" * 500, "(" * 500, "",
]  # fmt: skip
"""Our own: what breaks out of a quoted text, a pattern, a template, a cursor or a name."""

PLACES = {
    "where": "where: name == input.text",
    "in a list": "where: name in [input.text]",
    "in a list of the request": "where: name in input.texts",
    "contains": "where: (name | contains(input.text)) and name == input.text",
    "startsWith and endsWith": (
        "where: (name | startsWith(input.text)) and (name | endsWith(input.text))"
        " and (name | length) == (input.text | length)"
    ),
    "lower": "where: (name | lower) == (input.text | lower) and name == input.text",
    "joined": "where: ('<' + name + '>') == ('<' + input.text + '>')",
    "choice": "where: (name if note == input.text else input.text) == name and name == input.text",
    "of a relation": "where: exists(letters, body == input.text and person.name == input.text)",
    "in what is counted": "where: count(letters, body == input.text) == 1",
}


@pytest.fixture(scope="module", params=SLOW_DATABASES)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    with (
        place_of(request, tmp_path_factory.mktemp("injection")) as place,
        Bench(place, FILES) as found,
    ):
        yield found


@pytest.fixture
def people(bench: Bench) -> list[tuple[str, str]]:
    """Everybody's name and note: two bystanders, before what is hostile is there."""
    bench.sql("DELETE FROM people RETURNING 1")
    for name in ("Ada", "Bob"):
        bench.sql("INSERT INTO people (name, note) VALUES (?, 'kept') RETURNING 1", name)
    return [(str(name), str(note)) for name, note in bench.sql(ROWS)]


SEARCHES = ("contains", "startsWith and endsWith")
ADD = """
input: { text: text }
steps:
  - insert: { table: people, data: { name: "${ input.text }", data: { text: "${ input.text }" } } }
    as: person
  - insert: { table: letters, data: { person_id: "${ vars.person.id }", body: "${ input.text }" } }
  - return: { value: "${ vars.person }" }
"""


def find(condition: str) -> str:
    select = "{ name: name, data: data, letters: [ { body: body } ], said: \"'a' + name\" }"
    return (
        "input: { text: text, texts: 'text[]' }\nsteps:\n"
        f"  - find:\n      table: people\n      {condition}\n      select: {select}\n"
        "    as: found\n"
        "  - return: { value: '${ vars.found }' }\n"
    )


@pytest.mark.parametrize("place", PLACES)
def test_a_hostile_text_is_found_as_itself_and_finds_nothing_else(
    place: str, bench: Bench, people: list[tuple[str, str]]
) -> None:
    add, ask = bench.client(ADD), bench.client(find(PLACES[place]))
    for text in HOSTILE:
        assert bench.ask(add, {"text": text}).status == 200
        found = bench.ask(ask, {"text": text, "texts": [text]})
        if len(text) > LONGEST_SEARCHED and place in SEARCHES:
            assert found.status == 400
            continue
        assert found.json == [{
            "name": text, "data": {"text": text}, "letters": [{"body": text}], "said": "a" + text,
        }], (place, text)  # fmt: skip
        bench.sql("DELETE FROM people WHERE note <> 'kept' RETURNING 1")
        assert bench.sql(ROWS) == people


WRITES = {
    "update": (
        "update: { table: people, where: name == input.text, data: { note: '${ input.text }' } }"
    ),
    "update by the row": (
        "update: { table: people, where: name == input.text,"
        " data: { note: '${ row.note + input.text }' } }"
    ),
    "delete": "delete: { table: people, where: name == input.text }",
    "own sql": (
        "sql: { statement: 'UPDATE people SET note = :text WHERE name = :text', mode: write,"
        " params: { text: '${ input.text }' } }"
    ),
}


@pytest.mark.parametrize("write", WRITES)
def test_a_hostile_text_changes_only_its_own_row(
    write: str, bench: Bench, people: list[tuple[str, str]]
) -> None:
    add = bench.client(ADD)
    change = bench.client(f"input: {{ text: text }}\nsteps:\n  - {WRITES[write]}\n    as: done\n"
                          "  - return: { value: '${ vars.done }' }\n")  # fmt: skip
    for text in HOSTILE:
        bench.ask(add, {"text": text})
        assert bench.ask(change, {"text": text}).json == {"count": 1}, text
        own = [] if write == "delete" else [(text, text)]
        assert bench.sql(ROWS) == [*people, *own]
        bench.sql("DELETE FROM people WHERE note <> 'kept' OR name = '' RETURNING 1")


def test_a_hostile_text_in_a_query_is_a_value_or_refused(
    bench: Bench, people: list[tuple[str, str]]
) -> None:
    ask = bench.client(
        "query: { limit?: integer, sort?: { type: string, enum: [name.asc] }, cursor?: text }\n"
        "steps:\n  - find:\n      table: people\n      select: [name]\n"
        "      orderBy: ${ query.sort | default('name.asc') }\n"
        "      limit: ${ query.limit | default(9) | clamp(1, 9) }\n"
        "      after: ${ query.cursor }\n    as: page\n"
        "  - return: { value: '${ vars.page.rows }' }\n"
    )
    for text in HOSTILE:
        for name in ("limit", "sort", "cursor"):
            reply = bench.ask(ask, query=f"{name}={quote(text)}")
            assert reply.status in {200, 400}, (name, text, reply.json)
    assert bench.sql(ROWS) == people


@pytest.mark.parametrize("text", ["\0", "a\0'b", "\ud800"])
def test_a_text_with_what_is_no_text_is_refused(
    text: str, bench: Bench, people: list[tuple[str, str]]
) -> None:
    raw = json.dumps({"text": text}).encode()
    reply = bench.loop.run_until_complete(bench.client(ADD).ask("POST", "/run", raw=raw))
    assert reply.status == 400
    assert bench.sql(ROWS) == people


@pytest.mark.long
@settings(deadline=None, max_examples=100)
@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60))
def test_any_text_comes_back_as_it_was(bench: Bench, text: str) -> None:
    function = find(PLACES["where"])
    bench.ask(bench.client(ADD), {"text": text})
    found = bench.ask(bench.client(function), {"text": text, "texts": []}).json
    assert {one["name"] for one in found} == {text}
