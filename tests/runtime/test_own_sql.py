"""sql: an author's own statement, its parameters, and what it may not do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.compiler.check import validate
from bbops.compiler.compile.release import build
from bbops.language.sql.own import read_statement
from bbops.runtime.values.failures import FlowError
from bbops.source.tree import MemoryTree
from tests.conftest import NOTES, with_function
from tests.support.postgres import DATABASES, ON_SQLITE, place_of
from tests.support.workbench import Bench

USERS = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  name: { type: string }
  secret: { type: string, private: true }
"""


@pytest.fixture(params=DATABASES)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    files = {"tables/notes.yaml": NOTES}
    if request.param == "postgres":
        project = with_function("steps: []\n")["project.yaml"]
        files["project.yaml"] = f"{project}database: {{ engine: postgres }}\n"
    with place_of(request, tmp_path) as place, Bench(place, files) as found:
        yield found


def own(statement: str, more: str = "") -> str:
    return f"""
input: {{ ids?: 'integer[]', word?: string }}
steps:
  - sql:
      statement: |-
        {statement}
{more}
    as: rows
  - return: {{ value: "${{ vars.rows }}" }}
"""


LISTED = {"sqlite": "id IN (SELECT value FROM json_each(:ids))", "postgres": "id = ANY(:ids)"}


def test_values_travel_as_parameters(bench: Bench) -> None:
    function = own(
        "SELECT ':word' AS a, :word AS b, id FROM notes -- :no\n"
        f"        WHERE :word <> '' AND {LISTED[bench.database]};",
        '      params: { word: "${ input.word }", ids: "${ input.ids }" }',
    )
    found = bench.run(function, {"word": "x'; DROP TABLE notes; --", "ids": [2, 3, 9]})
    assert [row["id"] for row in found] == [2, 3]
    assert found[0] == {"a": ":word", "b": "x'; DROP TABLE notes; --", "id": 2}


def test_a_write_without_returning_gives_a_count(bench: Bench) -> None:
    function = own("DELETE FROM notes WHERE id > 1", "      mode: write")
    assert bench.run(function) == {"count": 2}


def test_a_read_that_hides_a_write_is_refused_at_run_time(bench: Bench) -> None:
    function = own("WITH x AS (SELECT 1) INSERT INTO notes (title) SELECT 'x' FROM x RETURNING id")
    assert bench.ask(bench.client(function)).status == 500
    inside = function.replace("  - sql:", "  - transaction:\n    - sql:").replace(
        "\n      ", "\n        "
    ).replace("    as: rows", "      as: rows")  # fmt: skip
    assert bench.ask(bench.client(inside)).status == 500
    assert bench.sql("SELECT count(*) FROM notes") == [(3,)]


def mistakes(statement: str, more: str = "") -> list[str]:
    files = with_function(own(statement, more)) | {"tables/users.yaml": USERS}
    return [str(one) for one in validate(MemoryTree(files))[1]]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SELECT 1; SELECT 2", "begins another one"),
        ("SELECT * FROM nowhere", "SQLite says: no such table"),
        ("SELECT nope FROM notes", "SQLite says: no such column"),
        ("SELEC 1", "must begin with one of select"),
        ("DELETE FROM notes", "add 'mode: write'"),
        ("PRAGMA user_version", "must begin with one of select"),
        ("SELECT ?", "written ':name'"),
        ("SELECT :word", "'params' has no value for ':word'"),
        ("SELECT ${ input.word }", "takes no expressions"),
        ("SELECT secret FROM users", "private-data"),
        ("SELECT u.* FROM users u", "private-data"),
        ('SELECT "secret" FROM users', "private-data"),
    ],
)
def test_mistakes_are_told_before_anything_runs(statement: str, message: str) -> None:
    assert message in "\n".join(mistakes(statement))


def test_counting_rows_of_a_table_with_private_columns_is_fine() -> None:
    assert mistakes("SELECT count(*) AS n, name FROM users GROUP BY name") == []


@given(st.text(alphabet="ab :'\"`[];-*/?\n", max_size=30))
def test_reading_a_statement_keeps_its_text(text: str) -> None:
    found = read_statement(text)
    assert found.sql.count("?") >= len(found.names)
    for name in found.names:
        assert f":{name}" in text


ONLY = "SELECT id FROM notes WHERE title ~ :word AND id = ANY('{1,2}'::int[])"
PARAMS = '      params: { word: "${ input.word }" }'


def test_sql_of_a_project_for_postgresql_is_not_tried_on_sqlite() -> None:
    assert "SQLite says" in mistakes(ONLY, PARAMS)[0]
    files = with_function(own(ONLY, PARAMS))
    files["project.yaml"] += "database: { engine: postgres }\n"
    tree = MemoryTree(files)
    assert validate(tree)[1] == ()
    assert build(tree, database="postgres").diagnostics == ()
    (found,) = build(tree).diagnostics
    assert (found.code, str(found.place)) == ("other-database", "project.yaml:9:21")
    assert found.message == "the project's SQL is for PostgreSQL, and this database is SQLite"


# ---- what is closed to it
CLOSED = [
    "SELECT * FROM sqlite_master", "SELECT * FROM sqlite_schema", 'SELECT * FROM "sqlite_master"',
    "SELECT * FROM pragma_table_info('users')", "SELECT * FROM pragma_database_list",
    "SELECT * FROM main.sqlite_master", "SELECT hash FROM _bbops_api_keys",
    "SELECT * FROM dbstat", "SELECT * FROM sqlite_stmt", "SELECT sqlite_version()",
    "SELECT sqlite_compileoption_used('x')", "SELECT load_extension('x')",
    "SELECT fts3_tokenizer('x')", "SELECT writefile('x', 'y')",
    "WITH x AS (SELECT * FROM sqlite_temp_master) SELECT * FROM x",
    "SELECT id, (SELECT group_concat(sql) FROM sqlite_master) FROM notes",
]  # fmt: skip
CLOSED_ON_POSTGRES = [
    "SELECT * FROM pg_catalog.pg_authid", "SELECT * FROM pg_shadow", "SELECT pg_sleep(1)",
    'SELECT "pg_sleep"(1)', "SELECT pg_read_file('/etc/passwd')", "SELECT lo_import('/etc/passwd')",
    "SELECT * FROM dblink('host=x', 'SELECT 1') AS a(b int)", "SELECT current_setting('port')",
    "SELECT set_config('role', 'x', false)", "SELECT * FROM information_schema.tables",
    "SELECT query_to_xml('SELECT pg_sleep(1)', true, true, '')",
    "SELECT * FROM ts_stat('SELECT pg_sleep(1)')", 'SELECT U&"\\0070g_sleep"(1)',
    "SELECT E'\\'', pg_sleep(1), 'x'", "SELECT ARRAY[pg_sleep(1)]", "SELECT pg_sleep /* */ (1)",
    "SELECT * INTO copied FROM notes", "SELECT hash FROM _bbops_api_keys",
]  # fmt: skip


@pytest.mark.parametrize("statement", CLOSED)
def test_what_is_no_table_of_the_project_is_closed_to_statements(statement: str) -> None:
    assert "[sql]" in "\n".join(mistakes(statement))


@pytest.mark.parametrize("statement", CLOSED_ON_POSTGRES)
def test_the_catalog_of_postgresql_is_closed_to_statements(statement: str) -> None:
    files = with_function(own(statement)) | {"tables/users.yaml": USERS}
    files["project.yaml"] += "database: { engine: postgres }\n"
    found = [str(one) for one in validate(MemoryTree(files))[1]]
    assert any("[sql]" in one for one in found), found


@ON_SQLITE
@pytest.mark.parametrize("statement", CLOSED)
@pytest.mark.parametrize("way", ["alone", "in a transaction"])
def test_the_database_refuses_what_is_closed_even_where_nobody_has_looked(
    way: str, statement: str, bench: Bench
) -> None:
    async def run() -> object:
        if way == "alone":
            return await bench.door.rows(statement)
        async with bench.door.transaction() as transaction:
            return await transaction.rows(statement, writes=True)

    with pytest.raises(FlowError, match="the statement failed"):
        bench.loop.run_until_complete(run())


@ON_SQLITE
@pytest.mark.parametrize("statement", [
    "UPDATE sqlite_master SET sql = ''", "INSERT INTO _bbops_notes VALUES ('a', 'b')",
    "DELETE FROM _bbops_schema", "CREATE TABLE x (a)", "DROP TABLE notes",
    "WITH x AS (SELECT 1) DELETE FROM _bbops_notes RETURNING name",
])  # fmt: skip
def test_the_database_refuses_writes_to_what_is_not_the_project_s(
    statement: str, bench: Bench
) -> None:
    with pytest.raises(FlowError, match="the statement failed"):
        bench.loop.run_until_complete(bench.door.rows(statement, writes=True))


def test_what_is_usual_stays_open(bench: Bench) -> None:
    both = [
        "WITH x AS (SELECT id, title FROM notes) SELECT n.id FROM x n JOIN notes m ON m.id = n.id",
        "SELECT count(*) AS id, max(length(title)), coalesce(min(title), 'a') FROM notes",
        "SELECT id, row_number() OVER (ORDER BY title) AS place FROM notes WHERE title LIKE 't%'",
        "SELECT replace(trim(title), 'o', '0') AS a, CURRENT_TIMESTAMP AS b FROM notes",
    ]
    for statement in both:
        assert bench.run(own(statement))


@ON_SQLITE
def test_json_and_schema_changes_of_others_keep_statements_running(bench: Bench) -> None:
    function = own("SELECT value FROM json_each('[1,2]') UNION ALL SELECT id FROM notes")
    before = bench.run(function)
    bench.sql("CREATE TABLE another (a INTEGER)")
    assert bench.run(function) == before
    deletes = own("DELETE FROM notes WHERE id IN (SELECT value FROM json_each('[1]'))",
                  "      mode: write")  # fmt: skip
    assert bench.run(deletes) == {"count": 1}


@pytest.mark.parametrize(("text", "value"), [
    ("instr('aXb', 'X')", 2), ("instr('a', 'X')", 0), ("instr(12.0, '.')", 3),
    ("instr(NULL, 'a')", None), ("instr(x'616263', x'63')", 3), ("instr('ü.', '.')", 2),
    ("replace('abab', 'a', 'c')", "cbcb"), ("replace('abab', '', 'c')", "abab"),
    ("replace(1.5, '.', ',')", "1,5"), ("replace('a', 'a', NULL)", None),
    ("trim('xaxx', 'x')", "a"), ("ltrim('xxa', 'xy')", "a"), ("rtrim('ab', '')", "ab"),
    ("trim('  a ')", "a"), ("json_patch('{\"a\":1}', '{\"b\":2}')", '{"a":1,"b":2}'),
])  # fmt: skip
@ON_SQLITE
def test_bounded_functions_give_what_sqlite_s_own_give(
    text: str, value: object, bench: Bench
) -> None:
    (theirs,) = sqlite3.connect(":memory:").execute(f"SELECT {text}").fetchone()
    (ours,) = bench.run(own(f"SELECT {text} AS a"))
    assert ours["a"] == theirs == value
