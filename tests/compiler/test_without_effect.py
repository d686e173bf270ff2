"""What would have no effect is refused where it is written."""

from __future__ import annotations

import pytest

from bbops.compiler.check import validate
from bbops.source.tree import MemoryTree
from tests.conftest import PROJECT, Files, with_function

ID = "id: { type: integer, primaryKey: true, auto: increment }"


def told(files: Files) -> list[tuple[str, str]]:
    found = validate(MemoryTree(with_function("steps: []\n") | files))[1]
    return [(one.severity, one.message) for one in found if one.code == "bad-value"]


def table(column: str, more: str = "") -> Files:
    return {"tables/notes.yaml": f"columns:\n  {ID}\n  one: {column}\n{more}"}


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("{ type: integer, maxLength: 4 }", "'maxLength' does not fit type integer"),
        ("{ type: uuid, minLength: 4 }", "'minLength' does not fit type uuid"),
        ("{ type: text, minimum: 2 }", "'minimum' does not fit type text"),
        ("{ type: date, maximum: 3 }", "'maximum' does not fit type date"),
        ("{ type: string, minLength: 5, maxLength: 2 }", "greater than 'maxLength', so no value"),
        ("{ type: integer, minimum: 5, maximum: 2 }", "greater than 'maximum', so no value"),
        ("{ type: string, default: abc, maxLength: 2 }", "the default violates 'maxLength'"),
        ("{ type: integer, default: 1, minimum: 5 }", "the default violates 'minimum'"),
        ("{ type: integer, reverse: many }", "'reverse' needs 'references'"),
        ("{ type: integer, onDelete: cascade }", "'onDelete' needs 'references'"),
        ("{ type: uuid, auto: uuid, default: x }", "so the default is never used"),
        ("{ type: integer, renamedFrom: id }", "column 'id' is still there"),
    ],
)
def test_a_key_of_a_column_that_does_nothing_is_refused(column: str, message: str) -> None:
    ((severity, found),) = told(table(column))
    assert severity == "error"
    assert message in found


@pytest.mark.parametrize(
    "column",
    ["{ type: string, minLength: 2, maxLength: 2, default: ab }",
     "{ type: decimal, minimum: 0, maximum: 10, default: '3.50' }",
     "{ type: boolean, default: true }", "{ type: binary, maxLength: 100 }",
     "{ type: integer, references: notes.id, nullable: true, onDelete: setNull, reverse: more }"],
)  # fmt: skip
def test_what_has_an_effect_is_taken(column: str) -> None:
    assert not told(table(column))


def test_a_key_and_an_index_that_another_undoes_are_refused() -> None:
    keys = table("{ type: integer, primaryKey: true }", "primaryKey: [id, one]\n")
    assert len(told(keys)) == 2
    index = table("{ type: integer }", "indexes:\n  twice: { columns: [one, id, one] }\n")
    assert told(index) == [("error", "'one' is listed twice in this index")]


@pytest.mark.parametrize("rules", ["minLength: 5, maxLength: 2", "minimum: 5, maximum: 2"])
def test_a_field_that_no_value_fits_is_refused(rules: str) -> None:
    kind = "string" if "Length" in rules else "integer"
    steps = f"input: {{ a?: {{ type: {kind}, {rules} }} }}\nsteps: [ {{ return: {{}} }} ]\n"
    ((_, message),) = told(with_function(steps))
    assert "so no value is valid" in message


def test_a_default_of_a_secret_is_told_and_one_that_never_counts_refused() -> None:
    env = "env:\n  A: { secret: true, default: hunter2 }\n  B: { generate: true, default: x }\n"
    ((secret, why), (generated, _)) = told({"project.yaml": PROJECT.replace("env:\n", env)})
    assert (secret, generated) == ("warning", "error")
    assert "would be readable in git" in why
    assert "hunter2" not in why


def test_a_file_that_is_larger_than_its_body_may_be_is_refused() -> None:
    files = with_function("input: { a?: string }\nsteps: [ { return: {} } ]\n")
    files["endpoints/run.yaml"] += "maxBody: 1KB\nfiles: { one: { maxSize: 1MB } }\n"
    assert told(files) == [("error", "a file of 1MB can never be uploaded: 'maxBody' is 1KB")]


@pytest.mark.parametrize(
    ("method", "key", "code"),
    [("GET", "maxBody: 2MB", "no-body"), ("DELETE", "maxBody: 2MB", "no-body"),
     ("GET", "idempotency: true", "bad-value")],
)  # fmt: skip
def test_what_bounds_or_keeps_nothing_of_a_method_is_refused(
    method: str, key: str, code: str
) -> None:
    files = with_function("steps: []\n", method=method)
    files["endpoints/run.yaml"] += f"{key}\n"
    found = validate(MemoryTree(files))[1]
    assert [one.code for one in found if one.place.file == "endpoints/run.yaml"] == [code]


@pytest.mark.parametrize(
    "field",
    ["type: boolean, enum: ['yes']", "type: date, enum: ['2026-01-01']",
     "type: 'date[]', enum: [a]", "type: list, items: string, enum: [a]",
     "type: 'integer[]', pattern: a"],
)  # fmt: skip
def test_a_rule_of_a_field_that_no_value_could_meet_is_refused(field: str) -> None:
    ((_, message),) = told(
        with_function(f"input: {{ a?: {{ {field} }} }}\nsteps: [ {{ return: {{}} }} ]\n")
    )
    assert "does not fit type" in message
