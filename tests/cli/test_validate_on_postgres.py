"""`bbops validate --database URL`: PostgreSQL compiles the project's own SQL."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner, Result

from bbops.base.errors import DatabaseError
from bbops.compiler.check import validate
from bbops.compiler.testing.own_statements import try_statements
from bbops.database.schema.place import PostgresPlace
from bbops.interfaces.cli._root_group import RootGroup
from bbops.source.tree import MemoryTree
from tests.conftest import NOTES, with_function


def run(*arguments: object) -> Result:
    return CliRunner().invoke(RootGroup("bbops"), list(map(str, arguments)))


HEAD = "input: { since?: datetime, id?: integer }\nsteps:\n"
STEP = """  - sql:
      statement: {statement}
{more}    as: found
  - return: ${{ vars.found }}
"""


def found_in(schema: PostgresPlace, statement: str, more: str = "", engine: str = "") -> list[str]:
    files = with_function(HEAD + STEP.format(statement=statement, more=more))
    files |= {"tables/notes.yaml": NOTES}
    files["project.yaml"] += engine
    project, found = validate(MemoryTree(files))
    assert project is not None, found
    return [str(one) for one in asyncio.run(try_statements(project, schema))]


ON_POSTGRES = "database: { engine: postgres }\n"


def test_what_both_take_has_no_findings(schema: PostgresPlace) -> None:
    more = (
        '      params: { since: "${ input.since }" }\n      columns: { id: integer, n: integer }\n'
    )
    statement = (
        "SELECT id, count(*) AS n FROM notes"
        " WHERE (:since IS NULL OR CURRENT_TIMESTAMP > :since) GROUP BY id"
    )
    assert found_in(schema, statement, more, ON_POSTGRES) == []


def test_what_only_sqlite_takes_is_a_warning_at_its_place(schema: PostgresPlace) -> None:
    (found,) = found_in(schema, "SELECT id, ifnull(title, '') AS a FROM notes")
    assert found.startswith("functions/run.yaml:4:29: warning: only SQLite takes this")
    assert "[sql-one-database]" in found
    assert "function ifnull" in found


def test_a_mistake_in_a_project_for_postgresql_is_an_error_at_its_place(
    schema: PostgresPlace,
) -> None:
    block = "|-\n        SELECT id\n        FROM notes WHERE id = :id AND titel = ''"
    (found,) = found_in(schema, block, '      params: { id: "${ input.id }" }\n', ON_POSTGRES)
    assert found.startswith("functions/run.yaml:6:39: error: PostgreSQL says: column")
    assert "[sql]" in found


def test_a_text_of_its_own_for_postgresql_is_an_error(schema: PostgresPlace) -> None:
    both = '{ sqlite: SELECT 1 AS a, postgres: "SELECT nope AS a" }'
    (found,) = found_in(schema, both)
    assert "error: PostgreSQL says: column" in found


def test_columns_are_compared_with_those_of_the_server(schema: PostgresPlace) -> None:
    more = "      mode: write\n      columns: { id: integer, n: integer }\n"
    found = found_in(schema, "DELETE FROM notes RETURNING id, title", more, ON_POSTGRES)
    assert [one for one in found if "[sql-columns]" in one] == found
    assert len(found) == 2


def test_nothing_stays_in_the_database(schema: PostgresPlace) -> None:
    found_in(schema, "SELECT id FROM notes", "", ON_POSTGRES)
    with psycopg.connect(schema.url) as connection:
        left = connection.execute(
            "SELECT nspname FROM pg_namespace WHERE nspname LIKE '\\_bbops\\_%'"
        ).fetchall()
    assert left == []


def test_the_command_tells_them_with_the_others(schema: PostgresPlace, tmp_path: Path) -> None:
    files = with_function(HEAD + STEP.format(statement="SELECT ifnull(1, 2) AS a", more=""))
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    done = run("validate", tmp_path, "--database", schema.url)
    assert done.exit_code == 0, done.output
    assert "[sql-one-database]" in done.output


@pytest.mark.parametrize("url", ["mysql://x/y", "postgresql://127.0.0.1:1/none"])
def test_a_database_that_cannot_be_asked_is_said_without_its_password(
    url: str, tmp_path: Path
) -> None:
    files = with_function(HEAD + STEP.format(statement="SELECT 1 AS a", more=""))
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    done = run("validate", tmp_path, "--database", url)
    assert isinstance(done.exception, DatabaseError) or done.exit_code == 2
