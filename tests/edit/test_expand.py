"""`bbops expand` writes what a file about a table stands for, and nothing else changes."""

from __future__ import annotations

import ast
import re
from hashlib import sha256
from pathlib import Path

import pytest

from bbops.base.errors import BbopsError
from bbops.compiler.check import CheckedProject, validate
from bbops.compiler.compile.function import compile_function, function_tree
from bbops.compiler.compile.release import _artifact, build
from bbops.edit.authoring.changing import Change, ChangedTree
from bbops.edit.authoring.expanding import expand
from bbops.edit.authoring.formatting import format_file
from bbops.edit.authoring.making import make_crud
from bbops.edit.authoring.naming import Name
from bbops.language.sql.sqlite import SQLITE
from bbops.review.plan.plan import plan
from bbops.source.tree import MemoryTree
from tests.support.crud import project_files, write_project

NOTES = Name("endpoints", "notes")
ACTIONS = ("list", "get", "create", "update", "delete")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_project(tmp_path)


def expanded(folder: Path, name: Name, *actions: str) -> Change:
    change = Change.open(folder)
    for action in actions or ("",):
        expand(change, name, action)
    return change


def digest(project: CheckedProject) -> str:
    """Return what a release is made of, but for the places in files that traces name.

    Python's bytecode depends on lines, too, so what it is made of is compared.
    """
    said = []
    for name in sorted(project.functions):
        given = (project, name, project.flows.of(name), SQLITE)
        compiled = compile_function(*given)
        said.append(repr({key: compiled[key] for key in compiled.keys() - {"file", "code"}}))
        said.append(ast.dump(function_tree(*given)[2]))
    whole = _PLACE.sub("", "".join(said))
    routes = _artifact(project, [], SQLITE)["routes"]
    return sha256(f"{whole}{routes}".encode()).hexdigest()


_PLACE = re.compile(r"(?<=')(?:endpoints|functions)/[^']*:\d+(?=')")


@pytest.fixture(scope="module")
def before() -> CheckedProject:
    found = build(MemoryTree(project_files())).project
    assert found is not None
    return found


def after(change: Change) -> CheckedProject:
    """Return the project with what was changed."""
    found, wrong = validate(ChangedTree(change.folder.tree, change.files))
    assert found is not None, [*map(str, wrong)]
    return found


def is_same(old: CheckedProject, new: CheckedProject) -> bool:
    found = plan(old, new)
    is_empty = not (found.resources or found.routes or found.breaks or found.access)
    return is_empty and digest(old) == digest(new)


@pytest.mark.parametrize("name", ["notes", "words", "posts", "users/labels"])
def test_all_actions_become_files_and_nothing_else_changes(
    folder: Path, before: CheckedProject, name: str
) -> None:
    change = expanded(folder, Name("endpoints", name))
    assert change.files[f"endpoints/{name}.yaml"] is None
    now = after(change)
    assert name not in now.cruds
    assert is_same(before, now)


@pytest.mark.long
@pytest.mark.parametrize("action", ACTIONS)
def test_one_action_becomes_a_function(
    folder: Path, before: CheckedProject, action: str
) -> None:  # fmt: skip
    change = expanded(folder, NOTES, action)
    assert sorted(change.files) == ["endpoints/notes.yaml", f"functions/notes/{action}.yaml"]
    assert f"function: notes/{action}" in (change.files["endpoints/notes.yaml"] or b"").decode()
    assert is_same(before, after(change))


@pytest.mark.long
def test_one_after_the_other_is_the_same_as_all(folder: Path, before: CheckedProject) -> None:
    change = expanded(folder, NOTES, *ACTIONS)
    expand(change, NOTES)
    assert is_same(before, after(change))
    text = (change.files["endpoints/notes/delete.yaml"] or b"").decode()
    assert text.startswith("channel: desk\n")


def test_what_is_written_is_in_our_style(folder: Path) -> None:
    change = expanded(folder, NOTES)
    for path, data in change.files.items():
        assert data is None or format_file(path, data).text.encode() == data


def test_what_is_not_there_is_not_written(folder: Path) -> None:
    for name, action, says in (
        (NOTES, "make", "no action 'make'"), (Name("endpoints", "words"), "get", "no action"),
        (Name("endpoints", "users/labels"), "get", "a function of its own already"),
        (Name("functions", "own"), "", "not a file about a table"),
    ):  # fmt: skip
        with pytest.raises(BbopsError, match=says):
            expand(Change.open(folder), name, action)


# ---- new
def test_a_new_file_of_routes_says_everything(folder: Path, before: CheckedProject) -> None:
    (folder / "endpoints/posts.yaml").unlink()
    change = Change.open(folder)
    make_crud(change, "posts")
    made = change.files["endpoints/posts.yaml"]
    assert made == NEW.encode()
    assert after(change).endpoints.keys() == before.endpoints.keys()


NEW = """table: posts
path: /posts
authentication: JWT
owner: author_id
description: Posts.
select: [id, author_id, title, locked, gone_at]
actions:
  list: { filter: [locked, gone_at], sort: [id], limit: 20, maxLimit: 100 }
  get: {}
  create: { input: [title, locked, gone_at] }
  update: { input: [title, locked, gone_at] }
  delete: {}
"""


def test_routes_are_made_of_a_table_that_is_there_and_once(folder: Path) -> None:
    with pytest.raises(BbopsError, match="there is no table 'nots'"):
        make_crud(Change.open(folder), "nots")
    with pytest.raises(BbopsError, match=r"there is a 'endpoints/notes.yaml' already"):
        make_crud(Change.open(folder), "notes")
