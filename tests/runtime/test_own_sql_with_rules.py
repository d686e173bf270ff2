"""sql: a statement sees the visible rows of tables with rules, however it is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bbops.compiler.check import validate
from bbops.language.sql.own_rules import past_rules
from bbops.source.tree import MemoryTree
from tests.conftest import sample
from tests.support.desk import CHANNEL, PROJECT, TABLES
from tests.support.desk import ask as ask_steps
from tests.support.postgres import DATABASES, place_of
from tests.support.workbench import Bench

ENGINE = "database: { engine: postgres }\n"
STEPS = """  - sql:
      statement: |-
        {statement}
{more}
    as: found
  - return: ${{ vars.found }}
"""


@pytest.fixture(scope="module", params=DATABASES)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    with (
        place_of(request, tmp_path_factory.mktemp("own")) as place,
        Bench(place, TABLES | {"project.yaml": PROJECT}) as found,
    ):
        found.sql("INSERT INTO users (id, name) VALUES (1, 'a'), (2, 'b'), (3, 'c')")
        found.sql("INSERT INTO teams (id) VALUES (1)")
        found.sql("INSERT INTO members (id, team_id, user_id) VALUES (1, 1, 3)")
        for row in (
            (101, 1, None, "mine", None), (102, 2, None, "theirs", None),
            (103, 2, 1, "shared", None), (104, 1, None, "gone", "2026-01-01T00:00:00.000000Z"),
        ):  # fmt: skip
            values = ", ".join("NULL" if one is None else repr(one) for one in row)
            names = "id, user_id, team_id, title, deleted_at"
            found.sql(f"INSERT INTO notes ({names}) VALUES ({values})")
        yield found


def ask(bench: Bench, statement: str, user: int | None, more: str = "") -> Any:
    files = {"project.yaml": PROJECT + ENGINE} if bench.database == "postgres" else {}
    reply = ask_steps(bench, STEPS.format(statement=statement, more=more), user, "mine", files)
    assert reply.status == 200, (reply.json, bench.host.log.lines[-1:])  # type: ignore[attr-defined]
    return reply.json


def mistakes(statement: str, more: str = "", database: str = "sqlite") -> str:
    files = sample(project=PROJECT, channels__desk=CHANNEL) | TABLES
    if database == "postgres":
        files["project.yaml"] += ENGINE
    head = "channel: desk\nmethod: POST\npath: /run\ninput: { data: json }\nsteps:\n"
    files["endpoints/run.yaml"] = head + STEPS.format(statement=statement, more=more)
    tree = MemoryTree(files)
    return "\n".join(str(one) for one in validate(tree)[1] if one.severity == "error")


ALIKE = [
    "SELECT title FROM notes ORDER BY title",
    "SELECT n.title FROM notes AS n ORDER BY n.title",
    'SELECT "title" FROM "notes" ORDER BY 1',
    "SELECT title FROM NOTES ORDER BY title",
    "SELECT title FROM (SELECT * FROM Notes) AS x ORDER BY title",
    "WITH x AS (SELECT title FROM notes) SELECT title FROM x ORDER BY title",
    "with recursive x AS (SELECT title FROM notes) SELECT title FROM x ORDER BY title",
    "SELECT title FROM notes WHERE id IN (SELECT id FROM notes) ORDER BY title",
    "SELECT a.title FROM notes a JOIN notes b ON a.id = b.id ORDER BY a.title",
    "SELECT title FROM notes UNION SELECT title FROM notes ORDER BY title",
    "SELECT (SELECT x.title FROM notes x WHERE x.id = notes.id) AS title FROM notes ORDER BY 1",
]


@pytest.mark.parametrize("statement", ALIKE)
def test_a_statement_sees_the_rows_that_its_user_sees(bench: Bench, statement: str) -> None:
    def seen(user: int | None) -> list[str]:
        return [row["title"] for row in ask(bench, statement, user)]

    assert [seen(user) for user in (1, 2, 3, None)] == [
        ["mine"], ["shared", "theirs"], ["shared"], [],
    ]  # fmt: skip


def test_counts_and_parameters_go_with_the_rules(bench: Bench) -> None:
    statement = "SELECT count(*) AS n FROM notes, members WHERE title = :word OR :word = ''"
    more = '      params: { word: "${ input.data | toString }" }\n      one: required'
    assert [ask(bench, statement, user, more) for user in (1, 2)] == [{"n": 1}, {"n": 0}]


def test_rules_see_all_rows_of_what_they_read(bench: Bench) -> None:
    statement = "SELECT n.title, t.id FROM notes n JOIN teams t ON t.id = n.team_id"
    assert ask(bench, statement, 3) == [{"title": "shared", "id": 1}]


def test_reasons_lift_rules(bench: Bench) -> None:
    statement = "SELECT count(*) AS n FROM notes"
    more = "      one: required\n      bypassAccess: { notes: counts all }"
    assert ask(bench, statement, 1, more) == {"n": 3}
    more += "\n      unscoped: { notes: counts all }"
    assert ask(bench, statement, 1, more) == {"n": 4}


WHOLE = {"sqlite": "SELECT json_group_array(title) AS all_titles FROM notes",
         "postgres": "SELECT CAST(json_agg(notes) AS text) AS all_titles FROM notes"}  # fmt: skip


def test_whole_rows_are_those_that_are_visible(bench: Bench) -> None:
    (row,) = ask(bench, WHOLE[bench.database], 1)
    assert "mine" in row["all_titles"]
    assert "theirs" not in row["all_titles"]


PAST = [
    "SELECT * FROM main.notes", "SELECT * FROM public.notes", 'SELECT * FROM public."notes"',
    'SELECT * FROM "main" . "notes"', "SELECT * FROM main.'notes'", "SELECT * FROM MAIN.NOTES",
    "SELECT * FROM main/* */.notes", "SELECT * FROM main./* /* */ */notes",
    "SELECT * FROM main.--\n        notes", "SELECT * FROM main.[notes]",
    "SELECT * FROM main.`notes`",
    "SELECT * FROM _kept_members, notes", 'SELECT * FROM "_VISIBLE_notes", notes',
    "SELECT 1) UNION (SELECT id FROM notes", "SELECT id FROM notes)) UNION ((SELECT id FROM notes",
    "SELECT ARRAY[length(']'), (SELECT count(*) FROM main.notes), length('[')]",
    "SELECT E'' '\\' ' || (SELECT max(title) FROM main.notes) || ' '",
]  # fmt: skip


@pytest.mark.parametrize("database", DATABASES)
@pytest.mark.parametrize("statement", PAST)
def test_what_could_reach_past_rules_is_refused(statement: str, database: str) -> None:
    found = mistakes(statement, database=database)
    assert "[sql-past-rules]" in found or "[sql]" in found
    assert past_rules(statement, "notes")


@pytest.mark.parametrize("statement", [
    "UPDATE notes SET title = 'x'", "DELETE FROM notes", 'DELETE FROM "notes"',
    "INSERT INTO notes (title) VALUES ('x')", "INSERT INTO users (name) SELECT title FROM notes",
    "WITH x AS (DELETE FROM notes RETURNING id) SELECT id FROM x",
    "REPLACE INTO notes (title) VALUES ('x')", "UPDATE 'notes' SET title = 'x'",
])  # fmt: skip
def test_a_statement_that_writes_names_no_table_with_rules(statement: str) -> None:
    assert "[sql-past-rules]" in mistakes(statement, "      mode: write")


@pytest.mark.parametrize("statement", ["SELECT title FROM 'notes'", "SELECT title FROM [notes]"])
def test_sqlite_s_other_names_are_names_too(statement: str, tmp_path: Any) -> None:
    with Bench(tmp_path, TABLES | {"project.yaml": PROJECT}) as bench:
        bench.sql("INSERT INTO users (id) VALUES (1)")
        bench.sql("INSERT INTO notes (user_id, title) VALUES (1, 'mine')")
        if "[" in statement:
            assert "[sql-past-rules]" in mistakes(statement)
        else:
            assert ask(bench, statement, None) == []
            assert ask(bench, statement, 1) == [{"title": "mine"}]


def test_a_statement_about_other_tables_stays_as_it_is() -> None:
    assert mistakes("SELECT name /* of users */ FROM users -- notes") != ""
    assert mistakes("SELECT name /* of users */ FROM main.users -- all") == ""
    assert mistakes("SELECT notes_of FROM (SELECT 1 AS notes_of) x") == ""


def test_a_name_of_the_statement_s_own_does_not_stand_for_visible_rows() -> None:
    found = mistakes("WITH notes AS (SELECT 1 AS id) SELECT id FROM notes")
    assert "[sql-past-rules]" in found
    assert "duplicate WITH table name: notes" in found


def test_a_read_that_hides_a_write_is_refused() -> None:
    statement = "WITH x AS (SELECT 'a' AS t) INSERT INTO notes (title) SELECT t FROM x RETURNING id"
    assert "[sql-past-rules]" in mistakes(statement)
