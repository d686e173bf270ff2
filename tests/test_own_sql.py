"""sql: an author's own statement, its parameters, and what it may not do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.check import validate
from bbops.compile.release import build
from bbops.sql.own import read_statement
from bbops.tree import MemoryTree
from tests.conftest import NOTES, with_function
from tests.postgres import DATABASES, place_of
from tests.workbench import Bench

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
        ("SELEC 1", "begins with one of select"),
        ("DELETE FROM notes", "add 'mode: write'"),
        ("PRAGMA user_version", "begins with one of select"),
        ("SELECT ?", "written ':name'"),
        ("SELECT :word", "nothing in 'params' gives ':word'"),
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
