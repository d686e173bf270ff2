"""What one statement may cost: it keeps nobody waiting, ends in time, and says why it was ended."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from time import thread_time
from typing import Any

import pytest

from bbops.base.errors import ProjectError
from bbops.compiler.testing.client import Client, Reply
from bbops.database.postgres import driver, transaction
from bbops.database.sqlite import driver as sqlite
from bbops.database.sqlite import off_loop
from bbops.database.sqlite.limits import LIMITS
from tests.conftest import NOTES, with_function
from tests.support.postgres import DATABASES, ON_SQLITE, place_of
from tests.support.time_limits import in_time
from tests.support.workbench import Bench

TEXTS = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  title: { type: string, nullable: true }
  body: { type: text, maxLength: 1000000 }
  note: { type: text, default: "" }
"""
LONGEST_PAUSE_SECONDS = 0.5
"""CPU time, so that other programs add nothing; the statements took more on the loop."""


@pytest.fixture(params=DATABASES)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    files = {"tables/notes.yaml": NOTES, "tables/texts.yaml": TEXTS}
    if request.param == "postgres":
        project = with_function("steps: []\n")["project.yaml"]
        files["project.yaml"] = f"{project}database: {{ engine: postgres }}\n"
    with place_of(request, tmp_path) as place, Bench(place, files) as found:
        yield found


def ask_beside_a_clock(bench: Bench, client: Client, body: Any) -> tuple[Reply, float]:
    """Return the answer, and the most CPU seconds that the loop's thread spent in one turn."""

    async def main() -> tuple[Reply, float]:
        longest, asked = 0.0, asyncio.ensure_future(client.ask("POST", "/run", body))
        while not asked.done():
            before = thread_time()
            await asyncio.sleep(0.005)
            longest = max(longest, thread_time() - before)
        return asked.result(), longest

    return bench.loop.run_until_complete(main())


def fill(bench: Bench, rows: int, body: str) -> None:
    for _ in range(rows):
        bench.sql("INSERT INTO texts (body, note) VALUES (?, '')", body)


def find(where: str) -> str:
    return f"""
input: {{ word: string }}
steps:
  - find: {{ table: texts, where: "{where}", select: [id] }}
    as: rows
  - return: {{ value: "${{ vars.rows }}" }}
"""


def own(statement: str, mode: str = "read") -> str:
    return f"""
steps:
  - sql:
      mode: {mode}
      statement: |-
        {statement}
    as: rows
  - return: {{ value: "${{ vars.rows }}" }}
"""


# ---- texts that are looked for
@pytest.mark.parametrize(
    "where",
    ["body | contains(input.word)", "body | startsWith(input.word)",
     "body | endsWith(input.word | lower)", "(body | replace(input.word, '')) == ''"],
)  # fmt: skip
def test_a_long_text_to_look_for_is_refused_by_its_field(where: str, bench: Bench) -> None:
    fill(bench, 3, "a" * 900_000)
    word = "a" * 450_000 + "b"
    reply, pause = ask_beside_a_clock(bench, bench.client(find(where)), {"word": word})
    assert (reply.status, reply.json["error"]["code"]) == (400, "invalidInput")
    assert reply.json["error"]["fields"] == {"word": ["must have at most 1000 characters"]}
    assert pause < LONGEST_PAUSE_SECONDS


def test_a_text_of_a_thousand_characters_is_looked_for(bench: Bench) -> None:
    fill(bench, 2, "b" + "a" * 900_000)
    found, pause = ask_beside_a_clock(
        bench, bench.client(find("body | contains(input.word)")), {"word": "b" + "a" * 999}
    )
    assert [row["id"] for row in found.json] == [1, 2]
    assert pause < LONGEST_PAUSE_SECONDS


def test_a_constant_text_to_look_for_has_a_bound_too(bench: Bench) -> None:
    with pytest.raises(ProjectError) as caught:
        bench.client(find(f"body | contains('{'a' * 1001}')"))
    assert "at most 1000 characters" in str(caught.value.diagnostics)


@ON_SQLITE
def test_a_text_that_a_row_holds_is_looked_for_in_linear_time(bench: Bench) -> None:
    bench.sql("INSERT INTO texts (body, note) VALUES (?, ?)", "a" * 1_000_000, "a" * 100_000 + "b")
    for where in ("body | contains(note)", "(body | replace(note, '')) == ''"):
        with in_time():
            reply, pause = ask_beside_a_clock(bench, bench.client(find(where)), {"word": ""})
        assert (reply.json, pause < LONGEST_PAUSE_SECONDS) == ([], True)


# ---- an author's own SQL
BIG = "hex(zeroblob(1900000))"
LONG = {
    "hex": "SELECT length(hex(zeroblob(1900000))) AS n FROM notes",
    "randomblob": "SELECT length(randomblob(3900000)) AS n FROM notes",
    "replace": f"SELECT length(replace({BIG}, hex(zeroblob(400000)) || 'b', '')) AS n FROM notes",
    "instr": "SELECT instr(hex(zeroblob(1900000)), hex(zeroblob(900000)) || 'b') AS n FROM notes",
    "like": "SELECT hex(zeroblob(1900000)) LIKE '%' || hex(zeroblob(60)) || 'b' AS n FROM notes",
    "trim": "SELECT length(trim(hex(zeroblob(1900000)), '123456789abcdef')) AS n FROM notes",
    "printf": "SELECT length(printf('%.*c', 3900000, 'x')) AS n FROM notes",
    "json": "SELECT json_array_length('[' || replace(hex(zeroblob(500000)), '00', '1,') || '1]') "
    "AS n FROM notes",
}  # fmt: skip


@pytest.mark.long
@ON_SQLITE
@pytest.mark.parametrize("name", LONG)
def test_a_long_operation_keeps_no_other_request_waiting(name: str, bench: Bench) -> None:
    reply, pause = ask_beside_a_clock(bench, bench.client(own(LONG[name])), None)
    assert reply.status == 200, bench.host.log.lines  # type: ignore[attr-defined]
    assert pause < LONGEST_PAUSE_SECONDS


@ON_SQLITE
@pytest.mark.parametrize(
    "statement",
    ["SELECT length(hex(zeroblob(900000000))) AS n", "SELECT length(randomblob(900000000)) AS n",
     "SELECT 'a' LIKE '%' || hex(zeroblob(100)) AS n",
     "SELECT length(replace(hex(zeroblob(1900000)), '0', '000')) AS n",
     "SELECT json_patch(json_quote(hex(zeroblob(60000))), '{}') AS n",
     f"SELECT hex(zeroblob(1000000)) AS n FROM json_each('[{'1,' * 199}1]')"],
)  # fmt: skip
def test_what_is_larger_than_a_value_may_be_is_refused(statement: str, bench: Bench) -> None:
    reply, pause = ask_beside_a_clock(bench, bench.client(own(statement)), None)
    assert reply.status == 500
    assert pause < LONGEST_PAUSE_SECONDS


@ON_SQLITE
def test_limits_hold_on_every_connection_that_answers_requests(bench: Bench) -> None:
    door = bench.door
    assert isinstance(door, sqlite.Sqlite)
    bench.run("steps:\n  - transaction:\n      - log: { message: a }\n  - return: { value: 1 }\n")
    connections = [door._reader, door._inline, door._writer._connection]
    connections.append(door._transactions._open())
    for connection in connections:
        assert {limit: connection.getlimit(limit) for limit in LIMITS} == LIMITS


# ---- the clock
ENDLESS = {
    "sqlite": "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) "
    "SELECT count(*) AS n FROM r",
    "postgres": "SELECT count(*) AS n FROM generate_series(1, 100000000000)",
}
ENDLESS_WRITE = {
    "sqlite": "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) "
    "UPDATE notes SET done = (SELECT count(*) FROM r)",
    "postgres": "UPDATE notes SET done = (SELECT count(*) > 1 "
    "FROM generate_series(1, 100000000000))",
}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements have a fifth of a second."""
    monkeypatch.setattr(off_loop, "LONGEST_STATEMENT_SECONDS", 0.2)
    for other in (driver, transaction):
        monkeypatch.setattr(other, "SOON", "SET LOCAL statement_timeout = '200ms'")


def in_transaction(function: str) -> str:
    head, rest = function.split("  - sql:", 1)
    step, end = rest.split("  - return", 1)
    inside = f"      - sql:{step}".replace("\n    ", "\n        ").rstrip()
    return f"{head}  - transaction:\n{inside}\n  - return{end}"


@pytest.mark.parametrize(
    "way", ["read", "write", "read in a transaction", "write in a transaction"]
)
def test_a_statement_without_end_is_ended(way: str, quick: None, bench: Bench) -> None:
    mode = way[:5].strip()
    function = own((ENDLESS if mode == "read" else ENDLESS_WRITE)[bench.database], mode)
    if "transaction" in way:
        function = in_transaction(function)
    reply, pause = ask_beside_a_clock(bench, bench.client(function), None)
    assert (reply.status, reply.json["error"]["code"]) == (503, "statementTimeout")
    assert pause < LONGEST_PAUSE_SECONDS
    said = str(bench.host.log.lines[-1:])  # type: ignore[attr-defined]
    assert "functions/run.yaml:" in said
    assert bench.sql("SELECT count(*) FROM notes") == [(3,)]
    bench.sql("DELETE FROM notes WHERE id = 3")


def test_a_search_through_many_rows_is_ended(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(bench, 40, "a" * 900_000)
    monkeypatch.setattr(off_loop, "LONGEST_STATEMENT_SECONDS", 0)
    monkeypatch.setattr(driver, "SOON", "SET LOCAL statement_timeout = '1ms'")
    reply, _ = ask_beside_a_clock(
        bench, bench.client(find("body | contains(input.word)")), {"word": "a" * 900 + "b"}
    )
    assert (reply.status, reply.json["error"]["code"]) == (503, "statementTimeout")


def test_a_statement_whose_request_left_is_ended(bench: Bench) -> None:
    function = own(ENDLESS[bench.database]).replace(
        "    as: rows", "    as: rows\n    timeout: 100ms"
    )
    assert bench.ask(bench.client(function)).status == 500
    bench.loop.run_until_complete(bench.door.close())  # waits for the statement, which has no end


# ---- texts on their way in
INSERT = """
input: { title: string?, note: string }
steps:
  - insert: { table: texts, data: { title: "${ input.title }", body: a, note: "${ input.note }" } }
  - return: { status: 201 }
"""
ANY = """
input: { data: json }
steps:
  - insert: { table: texts, data: "${ input.data }" }
  - return: { status: 201 }
"""
UPDATE = """
input: { title: string }
steps:
  - update: { table: texts, where: id == 1, data: { title: "${ input.title }" } }
  - return: { status: 201 }
"""
CHANGE = """
input: { data: json }
steps:
  - update: { table: texts, where: id == 1, data: "${ input.data }" }
  - return: { status: 201 }
"""
GROW = """
input: { title: string }
steps:
  - update: { table: texts, where: id == 1, data: {
      title: "${ (row.title | default('')) + input.title }" } }
  - return: { status: 201 }
"""


@pytest.mark.parametrize(
    ("function", "body"),
    [(INSERT, {"title": "a" * 10_001, "note": ""}),
     (ANY, {"data": {"title": "a" * 10_001, "body": "a"}}),
     (ANY, {"data": [{"title": "a" * 10_001, "body": "a"}]}),
     (UPDATE, {"title": "a" * 10_001}), (CHANGE, {"data": {"title": "a" * 10_001}}),
     (GROW, {"title": "a" * 6_000})],
)  # fmt: skip
def test_a_text_that_is_too_long_is_refused_by_its_column(
    function: str, body: Any, bench: Bench
) -> None:
    bench.sql("INSERT INTO texts (title, body, note) VALUES (?, 'a', '')", "a" * 6_000)
    reply = bench.ask(bench.client(function), body)
    assert (reply.status, reply.json["error"]["code"]) == (400, "invalidInput")
    assert reply.json["error"]["fields"] == {"title": ["must have at most 10000 characters"]}
    assert bench.sql("SELECT count(*) FROM texts WHERE length(title) > 6000") == [(0,)]


def test_a_text_takes_more_than_a_string_and_a_column_raises_both(bench: Bench) -> None:
    client = bench.client(INSERT)
    assert bench.ask(client, {"title": "a" * 10_000, "note": "a" * 100_000}).status == 201
    reply = bench.ask(client, {"title": None, "note": "a" * 100_001})
    assert reply.json["error"]["fields"] == {"note": ["must have at most 100000 characters"]}
    raised = bench.client(ANY)
    assert bench.ask(raised, {"data": {"body": "a" * 1_000_000}}).status == 201
    grown = bench.client(GROW)
    assert bench.ask(grown, {"title": ""}).status == 201
