"""Documents of OpenAPI become addons: typed, bounded, and refused by name where they cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bbops.base.errors import BbopsError
from bbops.compiler.check import validate
from bbops.edit.authoring.changing import Change
from bbops.edit.importing.addon import Imported, import_addon
from bbops.edit.importing.document import Refused
from bbops.edit.importing.sources import read_openapi
from bbops.source.tree import FolderTree
from tests.edit.documents import BENT, HOSTILE, document, operation, posting, with_parameter
from tests.support.vendors import VENDORS

PROJECT = "bbops: 1\nname: shop\n"
THING = {"thing": "POST /things"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project without anything in it."""
    (tmp_path / "project.yaml").write_text(PROJECT)
    return tmp_path


def imported(root: Path, data: bytes, wanted: dict[str, str], name: str = "own") -> Imported:
    """Import an addon, and write it if the project is right with it."""
    change = Change.open(root)
    found = import_addon(change, name, read_openapi(data, "a.json"), wanted)
    change.apply()
    return found


def problems(root: Path, steps: str) -> list[str]:
    """Return what is wrong with a function of these steps."""
    (root / "functions").mkdir(exist_ok=True)
    (root / "functions/run.yaml").write_text(f"steps:\n{steps}")
    _, found = validate(FolderTree(root))
    return [f"{one.code}: {one.message}" for one in found if one.place.file.startswith("functions")
            and one.code != "unused-function"]  # fmt: skip


def file_of(root: Path, name: str = "own/thing") -> str:
    return (root / f"addons/{name}.yaml").read_text()


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_document_is_refused_by_name(root: Path, what: str) -> None:
    data, words = HOSTILE[what]
    wanted = {"thing": "makeThing"} if b"makeThing" in data else THING
    with pytest.raises(Refused, match=words.replace("(", r"\(")) as caught:
        imported(root, data, wanted)
    assert caught.value.message.isprintable()
    assert not (root / "addons").exists()


def test_there_are_fifty_of_them() -> None:
    assert len(HOSTILE) >= 50


@pytest.mark.parametrize("what", BENT)
def test_what_cannot_be_said_of_an_odd_document_is_json(root: Path, what: str) -> None:
    imported(root, BENT[what], THING)
    assert len(file_of(root)) < 40_000
    assert "__class__: " not in file_of(root) or "string" in file_of(root)


def test_references_and_alternatives_are_followed_and_null_is_known(root: Path) -> None:
    schema = {
        "type": "object", "required": ["id", "owner", "when"],
        "properties": {
            "id": {"type": "integer"}, "when": {"type": "string", "format": "date-time"},
            "owner": {"oneOf": [{"$ref": "#/components/schemas/User"}, {"type": "null"}]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "either": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        },
    }  # fmt: skip
    user = {"allOf": [{"properties": {"name": {"type": "string"}}}, {"required": ["name"]}]}
    imported(root, posting(None, schema, components={"schemas": {"User": user}}), THING)
    told = problems(root, (
        "  - own.thing: {}\n    as: it\n"
        "  - return: { value: ['${ vars.it.id + 1 }', '${ vars.it.owner.name }',"
        " '${ vars.it.tags | first }', '${ vars.it.idd }'] }\n"
    ))  # fmt: skip
    assert told == [
        "maybe-null: 'vars.it.owner' may be null, so its field 'name' may not exist",
        "unknown-field: this map has no field 'idd'",
    ] or [one.partition(":")[0] for one in told] == ["maybe-null", "maybe-null", "unknown-field"]


def test_names_that_are_no_names_of_ours_get_one_and_are_sent_as_they_are(root: Path) -> None:
    body = {"type": "object", "required": ["content-type"], "properties": {
        "content-type": {"type": "string"}, "2fa": {"type": "boolean"}}}  # fmt: skip
    imported(root, posting(body), THING)
    assert "in: { contentType: { body: content-type }, p2fa: { body: 2fa } }" in file_of(
        root
    ).replace('"', "")


def test_a_body_and_an_address_may_have_the_same_name(root: Path) -> None:
    one = {"name": "name", "in": "query", "schema": {"type": "string"}}
    imported(root, with_parameter(one), THING)
    assert "in: { name: query, bodyName: { body: name } }" in file_of(root)


def test_a_whole_body_that_is_a_list_is_one_parameter(root: Path) -> None:
    imported(root, posting({"type": "array", "items": {"type": "string"}}), THING)
    assert "in: { body: { whole: true } }" in file_of(root)


@pytest.mark.parametrize(
    ("schemes", "auth"),
    [
        ({"a": {"type": "http", "scheme": "bearer"}}, "{ bearer: token }"),
        ({"a": {"type": "http", "scheme": "basic"}}, "{ basic: [username, password] }"),
        ({"a": {"type": "apiKey", "in": "header", "name": "X-K"}}, "{ header: { X-K: apiKey } }"),
        ({"a": {"type": "apiKey", "in": "query", "name": "k"}}, "{ query: { k: apiKey } }"),
        (
            {"a": {"type": "oauth2", "flows": {"clientCredentials": {
                "tokenUrl": "https://a.example.com/token"}}}},
            "{ clientCredentials: { tokenUrl: https://a.example.com/token } }",
        ),
        (
            {"a": {"type": "apiKey", "in": "query", "name": "k"},
             "b": {"type": "http", "scheme": "bearer"}}, "{ bearer: token }",
        ),
    ],
)  # fmt: skip
def test_the_way_to_tell_who_asks_is_found(root: Path, schemes: Any, auth: str) -> None:
    data = json.dumps(document(components={"securitySchemes": schemes})).encode()
    imported(root, data, THING)
    told = file_of(root, "own").replace('"', "")
    assert f"auth: {auth}" in told or all(
        word in told for word in auth.strip("{} ").replace("{", "").replace("}", "").split()
    )
    assert "${ env.OWN_" in told
    assert "OWN_" in (root / "project.yaml").read_text()


# ---- again
OLD = operation(
    {"type": "object", "required": ["a"], "properties": {
        "a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"}}},
    {"type": "object", "required": ["id"], "properties": {
        "id": {"type": "string"}, "gone": {"type": "string"}}},
)  # fmt: skip
NEW = operation(
    {"type": "object", "required": ["a", "b"], "properties": {
        "a": {"type": "integer"}, "b": {"type": "string"}, "d": {"type": "string"}}},
    {"type": "object", "properties": {"id": {"type": "string"}, "more": {"type": "string"}}},
)  # fmt: skip


def both(one: Any, version: str = "1") -> bytes:
    """Return a document with two equal operations."""
    info = {"title": "x", "version": version}
    return json.dumps(document(info=info, paths={"/things": {"post": one, "put": one}})).encode()


def test_another_version_says_what_breaks_widens_or_needs_a_look(root: Path) -> None:
    imported(root, both(OLD), {"thing": "POST /things", "other": "PUT /things"})
    file = root / "addons/own/other.yaml"
    file.write_text(file.read_text().replace("a: string", "a: { type: string, minLength: 2 }"))
    edited = file.read_text()
    problems(root, "  - own.thing: { a: x }\n")
    change = Change.open(root)
    found = import_addon(change, "own", read_openapi(both(NEW, "2"), "a.json"), {})
    told = {one.name: one for one in found.steps}
    assert {(one.effect, one.text) for one in told["thing"].changes} == {
        ("look", "parameter 'a' is integer, was string"),
        ("breaks", "parameter 'b' is needed now"),
        ("breaks", "parameter 'c' is gone"),
        ("widens", "parameter 'd' is new"),
        ("breaks", "'id' of the result may be missing now"),
        ("breaks", "'gone' of the result is gone"),
        ("widens", "'more' of the result is new"),
    }
    assert told["thing"].functions == ("run",)
    assert (told["thing"].what, told["other"].what) == ("changed", "kept")
    change.apply(force=True)
    assert file.read_text() == edited
    assert 'version: "2"' in file_of(root, "own")


def test_the_same_version_changes_nothing(root: Path) -> None:
    imported(root, both(OLD), THING)
    change = Change.open(root)
    found = import_addon(change, "own", read_openapi(both(OLD), "a.json"), {})
    assert [one.what for one in found.steps] == ["same"]
    assert change.files == {}


def test_an_operation_that_is_gone_breaks_its_step_and_keeps_its_file(root: Path) -> None:
    imported(root, both(OLD), THING)
    gone = json.dumps(document(paths={"/others": {"post": OLD}})).encode()
    change = Change.open(root)
    (step,) = import_addon(change, "own", read_openapi(gone, "a.json"), {}).steps
    assert step.what == "kept"
    assert step.changes[0].effect == "breaks"
    assert "addons/own/thing.yaml" not in change.files


def test_functions_that_no_longer_fit_are_named_and_nothing_is_written(root: Path) -> None:
    imported(root, both(OLD), THING)
    assert problems(root, "  - own.thing: { a: x, c: y }\n") == []
    before = file_of(root)
    with pytest.raises(BbopsError):
        imported(root, both(NEW), {})
    assert file_of(root) == before


@pytest.mark.parametrize("name", ["payments", "a b", "../x", "Own", "a.b", "${x}", "x" * 90])
def test_a_name_that_cannot_be_one_is_refused(root: Path, name: str) -> None:
    with pytest.raises(Refused, match=r"name|catalog"):
        imported(root, posting(), THING, name)


@pytest.mark.parametrize("name", ["a b", "../x", "a/b", "X", ""])
def test_a_step_whose_name_cannot_be_one_is_refused(root: Path, name: str) -> None:
    with pytest.raises(Refused, match="is not a name"):
        imported(root, posting(), {name: "POST /things"})


def test_no_step_at_all_is_refused(root: Path) -> None:
    with pytest.raises(Refused, match="no step was named"):
        imported(root, posting(), {})


# ---- vendors
@pytest.mark.parametrize("vendor", VENDORS)
def test_a_document_in_the_shape_of_a_vendors_is_typed(root: Path, vendor: str) -> None:
    one = VENDORS[vendor]
    imported(root, json.dumps(one.document).encode(), one.steps)
    assert problems(root, one.right) == []
    wrong = problems(root, one.wrong)
    assert [line.partition(":")[0] for line in wrong] == one.codes, wrong
