"""A column is renamed with what names it, and its values stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bbops.database.migrate.migrate import apply
from bbops.interfaces.cli._root_group import RootGroup
from bbops.interfaces.mcp.drafting.file_changes import change_files
from bbops.interfaces.mcp.models import DraftChange
from bbops.source.tree import FolderTree, MemoryTree
from tests.conftest import PROJECT
from tests.support.checkouts import Agent, make_repository
from tests.support.planning import project

POSTS = """columns:
  id: { type: integer, primaryKey: true, auto: increment }
  # what stands above it
  title: { type: string, maxLength: 40 } # as it is shown
  size: { type: integer, default: 0 }
indexes:
  by_title: { columns: [title, size] }
checks:
  named: title != 'title' and (title | length) > 1
seed:
  - { id: 1, title: first, size: 2 }
"""
RENAMED = """columns:
  id: { type: integer, primaryKey: true, auto: increment }
  # what stands above it
  heading: { type: string, maxLength: 40, renamedFrom: title } # as it is shown
  size: { type: integer, default: 0 }
indexes:
  by_title: { columns: [heading, size] }
checks:
  named: heading != 'title' and (heading | length) > 1
seed:
  - { id: 1, heading: first, size: 2 }
"""
FILES = {
    "project.yaml": PROJECT, "tables/posts.yaml": POSTS,
    "tables/codes.yaml": "primaryKey: [code]\ncolumns:\n  code: { type: string, maxLength: 9 }\n",
    "tables/uses.yaml": (
        "columns:\n  id: { type: integer, primaryKey: true }\n"
        "  code: { type: string, maxLength: 9, references: codes.code }\n"
    ),
    "functions/count.yaml": (
        "steps:\n  - find: { table: posts, select: [id] }\n    as: found\n"
        '  - return: { value: "${ vars.found }" }\n'
    ),
    "tests/count.yaml": (
        "function: count\ndata:\n  posts:\n    - { title: more }\n"
        "cases:\n  - { name: all, expect: { value: [{ id: 1 }, { id: 2 }] } }\n"
    ),
}  # fmt: skip
READS = (
    "steps:\n  - find: { table: posts, select: [title] }\n    as: found\n"
    '  - return: { value: "${ vars.found }" }\n'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def bbops(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(RootGroup("bbops"), [*arguments, "--path", str(folder)])


def test_a_column_takes_along_what_names_it(folder: Path) -> None:
    assert bbops(folder, "mv", "tables/posts.title", "tables/posts.heading").exit_code == 0
    assert (folder / "tables/posts.yaml").read_text() == RENAMED
    assert "{ heading: more }" in (folder / "tests/count.yaml").read_text()


def test_a_column_that_others_reference_stays_their_target(folder: Path) -> None:
    assert bbops(folder, "mv", "tables/codes.code", "short").exit_code == 0
    assert "primaryKey: [short]" in (folder / "tables/codes.yaml").read_text()
    assert "references: codes.short" in (folder / "tables/uses.yaml").read_text()


def test_a_column_that_goes_back_to_its_name_says_nothing_of_it(folder: Path) -> None:
    for old, new in (("title", "heading"), ("heading", "name"), ("name", "title")):
        assert bbops(folder, "mv", f"tables/posts.{old}", f"tables/posts.{new}").exit_code == 0
        text = (folder / "tables/posts.yaml").read_text()
        assert ("renamedFrom: title" in text) == (new != "title")


def test_rows_keep_their_values(folder: Path, tmp_path: Path) -> None:
    def tables() -> Any:
        found = project(read(folder)).tables
        return {name: table.model for name, table in found.items()}

    place = tmp_path / "data.sqlite"
    apply(place, tables())
    bbops(folder, "mv", "tables/posts.title", "heading")
    done = apply(place, tables())
    assert "rename" in str(done).lower()


def read(folder: Path) -> dict[str, str]:
    return {path: (folder / path).read_text() for path in FILES}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("tables/posts.titel", "heading", "did you mean 'title'?"),
        ("tables/posts.title", "size", "has a column 'size' already"),
        ("tables/posts.title", "tables/codes.title", "for example 'tables/posts.title'"),
        ("tables/posts.title", "Heading", "is not the name of a column"),
        ("tables/post.title", "heading", "did you mean 'posts'?"),
    ],
)
def test_what_cannot_be_renamed_is_told(folder: Path, old: str, new: str, said: str) -> None:
    before = read(folder)
    result = bbops(folder, "mv", old, new)
    assert result.exit_code != 0
    assert said in f"{result.output}{result.exception}{getattr(result.exception, 'hint', '')}"
    assert read(folder) == before


def test_what_functions_say_of_it_is_told_and_stays(folder: Path) -> None:
    (folder / "functions/count.yaml").write_text(READS)
    (folder / "tests/count.yaml").unlink()
    result = bbops(folder, "mv", "tables/posts.title", "heading")
    assert result.exit_code == 1
    assert (folder / "tables/posts.yaml").read_text() == POSTS
    assert bbops(folder, "mv", "tables/posts.title", "heading", "--force").exit_code == 0
    assert (folder / "tables/posts.yaml").read_text() == RENAMED
    assert (folder / "functions/count.yaml").read_text() == READS


def test_an_agent_that_renames_a_column_keeps_its_values() -> None:
    one = DraftChange("rename", "table/posts", path=["columns", "title"], to="heading")
    found = change_files(MemoryTree(FILES), [one])
    assert found["tables/posts.yaml"] == RENAMED.encode()


def test_an_agent_cannot_write_yaml_by_a_name(folder: Path) -> None:
    for name in ("a: 1 }", "heading\nx", "", "a" * 64):
        one = DraftChange("rename", "table/posts", path=["columns", "title"], to=name)
        with pytest.raises(Exception, match="is not the name of a column"):
            change_files(FolderTree(folder), [one])


def test_the_first_preview_of_it_says_what_becomes_of_its_values(tmp_path: Path) -> None:
    agent = Agent(make_repository(tmp_path, {}))
    change = {"op": "rename", "ref": "table/notes", "path": ["columns", "title"], "to": "heading"}
    found = agent.call("preview_changes", changes=[change])
    assert "unknown-column" in {one["code"] for one in found["diagnostics"]}
    (migration,) = found["migration"]
    assert migration["change"] == "rename column 'notes.heading': it was 'title'"
    assert migration["risk"] == "safe"
