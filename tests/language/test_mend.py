"""A file with mistakes is read as it was meant, so that they are told of once."""

from __future__ import annotations

import pytest

from bbops.compiler.check import validate
from bbops.language.loading.load import load
from bbops.source.tree import MemoryTree
from tests.conftest import NOTES, with_function

pytestmark = pytest.mark.quick

READ = """
params: { id: integer }
steps:
  - find: { table: notes, where: id == params.id, one: required }
    as: note
  - return: { value: "${ vars.note.title | upper }" }
"""


def told(**files: str) -> list[str]:
    """Return what is said of a right project in which these files are others."""
    right = with_function(READ.replace("params: { id: integer }\n", "input: { id: integer }\n")
                          .replace("params.id", "input.id"))  # fmt: skip
    changed = {path.replace("__", "/") + ".yaml": text for path, text in files.items()}
    project, found = validate(MemoryTree(right | changed))
    assert project is None
    return [f"{one.place.file} {one.code}" for one in found]


@pytest.mark.parametrize(("right", "wrong", "code"), [
    ("maxLength: 40", "maxLenght: 40", "unknown-key"),
    ("maxLength: 40", "maxLength: forty", "wrong-type"),
    ("maxLength: 40", "maxLength: '40'", "wrong-type"),
    ("maxLength: 40", "maxLength: 40, maxLength: 50", "duplicate-key"),
    ("type: string", "type: strnig", "bad-value"),
    ("type: string", "type: 7", "bad-value"),
    ("type: string", "tpye: string", "unknown-key"),
    ("primaryKey: true", "primaryKey: 'true'", "wrong-type"),
    ("columns:", "colums:", "unknown-key"),
    ("auto: increment", "auto: incremnet", "bad-value"),
])  # fmt: skip
def test_one_mistake_in_a_table_is_one_finding(right: str, wrong: str, code: str) -> None:
    assert told(tables__notes=NOTES.replace(right, wrong, 1)) == [f"tables/notes.yaml {code}"]


def test_a_column_of_an_unknown_type_is_there_still() -> None:
    project = load(MemoryTree(with_function(READ) | {
        "tables/notes.yaml": NOTES.replace("type: boolean", "type: colour"),
    })).project  # fmt: skip
    assert project is not None
    assert list(project.tables["notes"].model.columns) == ["id", "title", "done"]


def test_what_is_meant_reaches_other_files() -> None:
    endpoint = "metod: POST\npath: /run\nfunction: run\nauthentication: JTW\ndescription: Runs.\n"
    function = "steps:\n  - return: { value: '${ vars.auth.userId }' }\n"
    assert told(endpoints__run=endpoint, functions__run=function) == [
        "endpoints/run.yaml unknown-key", "endpoints/run.yaml bad-value",
    ]  # fmt: skip


def test_other_mistakes_of_other_files_are_told_of() -> None:
    table = NOTES.replace("maxLength: 40", "maxLenght: 40")
    function = "steps:\n  - find: { table: notes, where: ttle == 'a' }\n"
    assert told(tables__notes=table, functions__run=function) == [
        "functions/run.yaml unknown-column", "tables/notes.yaml unknown-key",
    ]  # fmt: skip


def test_what_cannot_be_guessed_is_left_alone() -> None:
    loaded = load(MemoryTree(with_function(READ) | {"tables/notes.yaml": "columns: 7\n"}))
    assert loaded.project is not None
    assert loaded.project.broken == {("tables", "notes")}
    assert "notes" not in loaded.project.tables
