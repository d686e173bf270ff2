"""`bbops test` on PostgreSQL: the same cases, the same answers, and nothing left behind."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner, Result

from bbops.compiler.compile.release import build
from bbops.compiler.testing.running import Runner, choose
from bbops.interfaces.cli._root_group import RootGroup
from bbops.source.tree import FolderTree, MemoryTree
from tests.conftest import ROOT, with_function
from tests.support.patience import wait_for

SCHEMAS = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'bbops_test_%'"
PROJECTS = [
    pytest.param(ROOT / "project-template", id="template", marks=pytest.mark.long),
    pytest.param(ROOT / "tests/samples/blog", id="blog", marks=pytest.mark.long),
    pytest.param(ROOT / "tests/samples/saas", id="saas"),
]


@pytest.mark.long
@pytest.mark.parametrize("folder", PROJECTS)
def test_the_tests_of_a_project_pass(folder: Path, postgres: str) -> None:
    built = build(FolderTree(folder), database="postgres")
    assert built.project is not None
    with Runner(built, postgres) as runner:
        outcomes = [asyncio.run(runner.run(one)) for one in choose(built.project)]
    assert [(one, one.wrong) for one in outcomes if one.wrong] == []
    with psycopg.connect(postgres, autocommit=True) as connection:
        # tests beside this one have schemas of their own there, for as long as they run
        assert wait_for(lambda: connection.execute(SCHEMAS).fetchone() == (0,))


TREES = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  parent_id: { type: integer, nullable: true, references: trees.id }
  owner_id: { type: integer, nullable: true, references: owners.id }
"""
OWNERS = """
columns:
  id: { type: integer, primaryKey: true }
  first_tree_id: { type: integer, nullable: true, references: trees.id }
"""
CASES = """
function: run
data:
  trees: ROWS
  owners: [ { id: 1, first_tree_id: 2 } ]
cases:
  - name: one
    input: {}
    expect: { value: 4, rows: { trees: 4 } }
"""
FUNCTION = """
steps:
  - insert: { table: trees, data: {} }
    as: x
  - return: { value: "${ vars.x.id }" }
"""


@pytest.mark.parametrize(
    ("rows", "wrong"),
    [
        ("[ { id: 1, parent_id: 3 }, { id: 2, owner_id: 1 }, { id: 3 } ]", []),
        ("[ { id: 2, parent_id: 9 } ]",
         ["a row of 'trees' refers to a row of 'trees' that is not there"]),
        ("[ { id: 2 }, { id: 2 } ]", ["row 2 of 'trees': a row with this 'id' exists already"]),
    ],
)  # fmt: skip
def test_rows_stand_in_any_order_and_wrong_ones_are_named(
    rows: str, wrong: list[str], postgres: str
) -> None:
    files = with_function(FUNCTION) | {
        "tables/trees.yaml": TREES, "tables/owners.yaml": OWNERS,
        "tests/run.yaml": CASES.replace("ROWS", rows),
    }  # fmt: skip
    for url in ("", postgres):
        built = build(MemoryTree(files), database="postgres" if url else "sqlite")
        assert built.project is not None, built.diagnostics
        with Runner(built, url) as runner:
            (one,) = choose(built.project, "run")
            outcome = asyncio.run(runner.run(one))
        assert [one.message for one in outcome.wrong] == wrong


def bbops_test(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(RootGroup("bbops"), ["test", "--path", str(folder), *arguments])


@pytest.mark.long
def test_the_command_runs_on_the_database_that_it_is_given(tmp_path: Path, postgres: str) -> None:
    files = with_function(FUNCTION) | {
        "tables/trees.yaml": TREES, "tables/owners.yaml": OWNERS,
        "tests/run.yaml": CASES.replace("ROWS", "[ { id: 2 }, { id: 1 }, { id: 3 } ]"),
    }  # fmt: skip
    files["project.yaml"] += "database: { engine: postgres }\n"
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert bbops_test(tmp_path, "--database-url", postgres).exit_code == 0
    refused = bbops_test(tmp_path)
    assert (refused.exit_code, "test it with --database-url" in refused.output) == (1, True)
    assert bbops_test(tmp_path, "--database-url", "nowhere").exit_code == 2
    by_pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*by_pytest, "-p", "no:hypothesispytest", f"--bbops-database-url={postgres}"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "2 passed" in done.stdout
