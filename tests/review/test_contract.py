"""Shapes, and what functions answer, in JSON Schema 2020-12."""

from __future__ import annotations

from typing import Any

import pytest

from bbops.compiler.check import CheckedProject, validate
from bbops.language.expressions.types import ANY, INTEGER, TEXT, Type, list_of, map_of
from bbops.language.json_schema import field_schema, shape_schema, type_schema
from bbops.language.loading.load import load
from bbops.language.shape import Field
from bbops.review.contract.outputs import Output, outputs
from bbops.source.tree import FolderTree, MemoryTree
from tests.conftest import ROOT, TEMPLATE, with_function

pytestmark = pytest.mark.quick

FIELDS: dict[str, tuple[Any, Any]] = {
    "text": ("string", {"type": "string"}),
    "nullable": ("uuid?", {"type": ["string", "null"], "format": "uuid"}),
    "anything": ("json?", {}),
    "many": ("integer[]", {"type": "array", "items": {"type": "integer", "format": "int64"}}),
    "lengths": (
        {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^a"},
        {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^a"},
    ),
    "members": (
        {"type": "string[]", "minLength": 1, "enum": ["a", "b"]},
        {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1},
    ),
    "options or null": (
        {"type": "string?", "enum": ["a"], "description": "One."},
        {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}], "description": "One."},
    ),
    "inside": (
        {"fields": {"a": "date", "b?": {"type": "number", "minimum": 0}, "c": {"items": "url"}}},
        {
            "type": "object",
            "properties": {
                "a": {"type": "string", "format": "date"},
                "b": {"type": "number", "minimum": 0},
                "c": {"type": "array", "items": {"type": "string", "format": "uri"}},
            },
            "required": ["a", "c"],
        },
    ),
}


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_is_said_in_json_schema(name: str) -> None:
    written, expected = FIELDS[name]
    assert field_schema(Field.model_validate(written)) == expected


def test_a_field_with_a_default_may_be_left_out() -> None:
    shape = {
        "page": Field.model_validate({"type": "integer", "default": 1}),
        "sort": Field.model_validate("string"),
    }
    assert shape_schema(shape) == {
        "type": "object",
        "properties": {
            "page": {"type": "integer", "format": "int64", "default": 1},
            "sort": {"type": "string"},
        },
        "required": ["sort"],
    }


def test_a_type_says_what_is_sent() -> None:
    row = map_of({"n": INTEGER.or_null(), "at": Type("datetime"), "x": TEXT.or_absent()})
    assert type_schema(list_of(row)) == {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "n": {"type": ["integer", "null"], "format": "int64"},
                "at": {"type": "string", "format": "date-time"},
                "x": {"type": "string"},
            },
            "required": ["n", "at"],
        },
    }
    assert type_schema(ANY) == {}


def told(function: str) -> tuple[Output, ...]:
    project, found = validate(MemoryTree(with_function(function)))
    assert project is not None, found
    return outputs(project, "run")


def test_each_status_has_what_the_steps_return() -> None:
    found = told(
        "input: { a: integer }\nsteps:\n"
        "  - if: input.a == 1\n    then:\n      - return: { status: 201, value: { n: 1 } }\n"
        "  - if: input.a == 2\n    then:\n"
        "      - throw: { status: 409, value: { why: '${ input.a }' } }\n"
        "  - if: input.a == 3\n    then:\n      - throw: { status: 404 }\n"
        "  - if: input.a == 4\n    then:\n      - return: { status: 204 }\n"
        "  - if: input.a == 5\n    then:\n      - return: { value: a, contentType: text/plain }\n"
        "  - return: { status: 201, value: { n: '${ input.a }', m: null } }\n"
    )
    integer = {"type": "integer", "format": "int64"}
    assert [(one.status, one.is_error) for one in found] == [
        (200, False), (201, False), (204, False), (404, True), (409, True),
    ]  # fmt: skip
    assert found[0].schema == {"type": "string"}
    assert found[0].content_type.startswith("text/plain")
    assert found[1].schema == {
        "anyOf": [
            {"type": "object", "properties": {"n": integer}, "required": ["n"]},
            {
                "type": "object",
                "properties": {"n": integer, "m": {"type": "null"}},
                "required": ["n", "m"],
            },
        ]
    }
    assert (found[2].schema, found[2].content_type) == (None, "")
    assert found[3].schema is None
    assert found[4].schema == {
        "type": "object",
        "properties": {"why": integer},
        "required": ["why"],
    }


def test_a_function_that_returns_nothing_answers_with_nothing() -> None:
    assert told("steps:\n  - log: { message: hello }\n") == (Output(200, None, ""),)


STREAM = "  - return:\n      stream: { chatModel.createMessage: { model: m, messages: [] } }\n"


def test_a_stream_is_said_with_its_events() -> None:
    (found,) = told(f"steps:\n{STREAM}")
    assert (found.status, found.content_type, found.is_error) == (200, "text/event-stream", False)
    assert found.schema is not None
    text, done, error = found.schema["items"]["anyOf"]
    assert text["properties"]["event"] == {"enum": ["text"]}
    assert text["properties"]["data"]["properties"] == {"text": {"type": "string"}}
    assert done["properties"]["event"] == {"enum": ["done"]}
    assert done["properties"]["data"]["properties"]["id"] == {"type": "string"}
    assert error["properties"]["data"]["required"] == ["code", "message", "requestId"]


def test_a_stream_stands_beside_what_is_declared_and_other_returns() -> None:
    either = "  - if: request.path == '/a'\n    then:\n      - return: { value: { id: x } }\n"
    found = told(f"output:\n  200: {{ fields: {{ id: string }} }}\nsteps:\n{either}{STREAM}")
    assert [(one.status, one.content_type) for one in found] == [
        (200, "application/json"), (200, "text/event-stream"),
    ]  # fmt: skip
    assert found == told(f"steps:\n{either}{STREAM}")


def test_what_is_declared_counts() -> None:
    found = told(
        "output:\n  200: { fields: { id: uuid } }\n  404: json\n"
        "steps:\n  - return: { value: { id: x } }\n"
    )
    assert [one.status for one in found] == [200, 404]
    assert found[0].schema is not None
    assert found[0].schema["properties"] == {"id": {"type": "string", "format": "uuid"}}


@pytest.mark.parametrize("folder", [TEMPLATE, *sorted((ROOT / "tests/samples").glob("*"))])
def test_every_function_of_the_samples_has_an_answer(folder: Any) -> None:
    loaded = load(FolderTree(folder)).project
    assert loaded is not None
    project = CheckedProject.of(loaded)
    for name in project.functions:
        assert any(not one.is_error for one in outputs(project, name)), name
