"""What is published of a project: each format of one, and what holds of all of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbops.compiler.check import validate
from bbops.review.contract.contract import Contract
from bbops.review.contract.examples import sample_of
from bbops.review.contract.files import FORMATS, schema_file
from bbops.review.contract.openapi import openapi
from bbops.runtime.values.failures import NOTHING
from bbops.source.tree import FolderTree
from tests.conftest import ROOT, sample
from tests.support.contracts import PROJECTS, contract_of
from tests.support.planning import FOLDER as PLANS

GOLDEN = ROOT / "tests/golden/contract"
ENDINGS = {
    "openapi": "openapi.json", "asyncapi": "asyncapi.json", "json": "json", "markdown": "md",
    "typescript": "ts", "python": "py.txt",
}  # fmt: skip
ALL = [*PROJECTS, PLANS / "project"]


@pytest.fixture(scope="module", params=ALL, ids=lambda path: path.parent.name + "-" + path.name)
def project(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


@pytest.fixture(scope="module")
def contract(project: Path) -> Contract:
    return contract_of(project)


# ---- formats
@pytest.mark.parametrize("form", FORMATS)
def test_a_small_project_is_written_so(form: str, request: pytest.FixtureRequest) -> None:
    path = GOLDEN / f"expected.{ENDINGS[form]}"
    text = FORMATS[form].render(contract_of(GOLDEN / "project"))
    if request.config.getoption("--update-golden"):
        path.write_text(text)
    assert text == path.read_text()


def test_openapi_keeps_to_its_specification(contract: Contract) -> None:
    from openapi_spec_validator import OpenAPIV31SpecValidator  # noqa: PLC0415 - takes 0.3 s

    OpenAPIV31SpecValidator(openapi(contract)).validate()


def test_json_keeps_to_its_schema(contract: Contract) -> None:
    (schema,) = schema_file().values()
    jsonschema.Draft202012Validator(json.loads(schema)).validate(
        json.loads(FORMATS["json"].render(contract))
    )


def test_a_reference_leads_to_a_shape(contract: Contract) -> None:
    text = FORMATS["json"].render(contract)
    assert set(re.findall(r'"#/shapes/(\w+)"', text)) == set(contract.shapes)


def test_a_link_of_the_page_leads_to_a_heading(contract: Contract) -> None:
    text = FORMATS["markdown"].render(contract)
    headings = {one.lower() for one in re.findall(r"^### (\w+)$", text, re.MULTILINE)}
    assert set(re.findall(r"\]\(#(\w+)\)", text)) <= headings


# ---- what is in it
def test_each_published_route_is_in_it_once(project: Path, contract: Contract) -> None:
    tree = FolderTree(project)
    found, _ = validate(tree, base=tree)
    assert found is not None
    published = {
        (one.method, re.sub(r":(\w+)", r"{\1}", one.path))
        for one in found.routes
        if one.endpoint.model.docs_visibility == "visible"
    }
    operations = contract.operations
    written = [(route.method, route.path) for route in operations if not route.is_chat]
    assert sorted(written) == sorted(published)
    document = openapi(contract)
    paths = {(method.upper(), path) for path, one in document["paths"].items() for method in one}
    chats = {(route.method, route.path) for route in operations if route.is_chat}
    assert paths == published | chats


def test_ids_of_operations_are_unique(contract: Contract) -> None:
    ids = [one.id for one in contract.operations]
    assert len(set(ids)) == len(ids)


def test_nothing_of_a_hidden_endpoint_is_told() -> None:
    text = "\n".join(
        one.render(contract_of(ROOT / "tests/samples/blog")) for one in FORMATS.values()
    )
    assert "/api/posts" in text.replace("/api/v1", "/api")
    assert "billing" not in text


def test_no_env_variable_is_told(project: Path, contract: Contract) -> None:
    tree = FolderTree(project)
    found, _ = validate(tree, base=tree)
    assert found is not None
    text = "\n".join(one.render(contract) for one in FORMATS.values())
    for name, variable in found.settings.model.env.items():
        assert name not in text
        assert not variable.default or variable.default not in text


@pytest.mark.parametrize("form", FORMATS)
def test_private_columns_are_not_told(form: str, contract: Contract) -> None:
    assert "password_hash" not in FORMATS[form].render(contract)


# ---- it stays
@given(st.randoms(use_true_random=False))
@settings(max_examples=8, deadline=None)
def test_the_order_of_files_changes_nothing(random: object) -> None:
    folder = GOLDEN / "project"
    files = {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    shuffled = list(files.items())
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert contract_of(dict(shuffled)) == contract_of(folder)


def test_another_promise_has_another_digest() -> None:
    project = sample_files()
    before = contract_of(project)
    project["endpoints/run.yaml"] += "description: Now with words.\n"
    assert contract_of(project).digest != before.digest


def sample_files() -> dict[str, str]:
    endpoint = "method: GET\npath: /run\nfunction: run\nauthentication: None\n"
    return sample(functions__run="steps: [ return: { value: 1 } ]", endpoints__run=endpoint)


# ---- examples
def test_an_example_fits_the_shape_it_is_of(contract: Contract) -> None:
    document = openapi(contract)
    for each in document["paths"].values():
        for one in each.values():
            bodies = [one.get("requestBody", {}), *one["responses"].values()]
            for content in (found for body in bodies for found in body.get("content", {}).values()):
                schema = {**content["schema"], "components": document["components"]}
                for example in content.get("examples", {}).values():
                    jsonschema.Draft202012Validator(schema).validate(example["value"])


SCALARS = st.sampled_from([
    {"type": "string"}, {"type": "integer", "minimum": 3}, {"type": "number", "maximum": -1},
    {"type": ["string", "null"], "format": "date-time"}, {"enum": ["a", "b"]}, {"type": "boolean"},
    {"type": "string", "minLength": 9, "maxLength": 12}, {"type": "null"}, {},
])  # fmt: skip
SCHEMAS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        inner.map(lambda one: {"type": "array", "items": one, "minItems": 2}),
        st.dictionaries(st.sampled_from("abc"), inner).map(
            lambda all_: {"type": "object", "properties": all_, "required": sorted(all_)}
        ),
        st.lists(inner, min_size=1, max_size=2).map(lambda many: {"anyOf": many}),
    ),
    max_leaves=6,
)


@given(SCHEMAS)
@settings(max_examples=60, deadline=None)
def test_a_sample_fits_its_schema(schema: dict[str, object]) -> None:
    jsonschema.Draft202012Validator(schema).validate(sample_of(schema))


def test_what_must_meet_a_pattern_has_no_sample() -> None:
    inner = {"type": "string", "pattern": "^a$"}
    assert sample_of(inner) is NOTHING
    assert sample_of({"type": "object", "properties": {"x": inner}, "required": ["x"]}) is NOTHING
    assert sample_of({"type": "object", "properties": {"x": inner}}) == {}
