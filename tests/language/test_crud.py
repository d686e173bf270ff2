"""A file about a table becomes endpoints and functions, whose places are in its actions."""

from __future__ import annotations

from bbops.compiler.check import validate
from bbops.language.loading.load import LoadCache, load
from bbops.source.tree import MemoryTree
from tests.support.crud import TABLES, project_files

NAMES = {"notes/create", "notes/delete", "notes/get", "notes/list", "notes/update"}
NOTES = "endpoints/notes.yaml"


def test_only_what_is_named_exists_under_usual_names() -> None:
    project = load(MemoryTree(project_files())).project
    assert project is not None
    made = {name for name, one in project.endpoints.items() if one.file == NOTES}
    assert made == {name for name, one in project.functions.items() if one.file == NOTES} == NAMES
    assert "notes" not in project.endpoints
    assert project.endpoints["users/labels/get"].model.function == "own"
    assert "users/labels/get" not in project.functions


def test_places_are_in_the_action() -> None:
    project = load(MemoryTree(project_files())).project
    assert project is not None
    lines = project_files()[NOTES].splitlines()
    function = project.functions["notes/create"]
    assert "create:" in lines[function.place("steps").line - 1]
    assert "input: [title" in lines[function.place("input", "title").line - 1]
    step = function.model.every_step[-2]
    assert function.at(step.mark).file == NOTES


def test_what_was_made_is_made_again_where_a_column_changes() -> None:
    cache, files = LoadCache(), project_files()
    before, same = (load(MemoryTree(files), cache).project for _ in range(2))
    other = TABLES["tables/notes.yaml"].replace("[open, closed]", "[open, closed, gone]")
    after = load(MemoryTree(files | {"tables/notes.yaml": other}), cache).project
    assert before is not None
    assert same is not None
    assert after is not None
    assert same.functions["notes/list"] is before.functions["notes/list"]
    assert after.functions["notes/list"].blob != before.functions["notes/list"].blob
    assert after.functions["posts/list"].blob == before.functions["posts/list"].blob


def test_an_action_that_cannot_be_made_is_told_and_needs_no_other_error() -> None:
    files = project_files() | {
        "tests/notes.yaml": "endpoint: posts/create\ncases:\n  - name: it works\n"
        "    input: { title: a }\n    expect: { status: 400 }\n",
        "endpoints/posts.yaml": project_files()["endpoints/posts.yaml"].replace(
            "input: [title, author_id]", "input: [title]"
        ),
    }  # fmt: skip
    _, found = validate(MemoryTree(files))
    assert [(one.code, one.place.file) for one in found if one.severity == "error"] == [
        ("crud-input", "endpoints/posts.yaml")
    ]
