"""What is published of routes of a table: brackets, operators, and the clients' names."""

from __future__ import annotations

import pytest

from bbops.compiler.check import validate
from bbops.review.contract.contract import Contract
from bbops.review.contract.describe import describe
from bbops.review.contract.openapi import openapi
from bbops.review.contract.python import render_python
from bbops.review.contract.typescript import render_typescript
from bbops.source.tree import MemoryTree
from tests.support.crud import project_files


@pytest.fixture(scope="module")
def contract() -> Contract:
    project, _ = validate(MemoryTree(project_files()))
    assert project is not None
    return describe(project)


def test_openapi_says_brackets_and_operators(contract: Contract) -> None:
    paths = openapi(contract)["paths"]
    listing = paths["/desk/notes"]["get"]
    assert listing["operationId"] == "notes.list"
    given = {one["name"]: one for one in listing["parameters"]}
    due = given["due"]
    assert (due["style"], due["explode"]) == ("deepObject", True)
    assert [*due["schema"]["properties"]] == ["eq", "ne", "in", "null", "gt", "gte", "lt", "lte"]
    assert given["sort"]["schema"]["enum"][:2] == ["id.asc", "id.desc"]
    assert given["limit"]["schema"]["maximum"] == 5
    assert "token" not in given
    assert {*paths["/desk/notes/{id}"]} == {"get", "patch", "delete"}
    assert "201" in paths["/desk/notes"]["post"]["responses"]


def test_answers_have_their_types(contract: Contract) -> None:
    document = openapi(contract)
    answers = document["paths"]["/open/posts/{id}"]["get"]["responses"]
    shape = answers["200"]["content"]["application/json"]["schema"]
    named = document["components"]["schemas"][shape["$ref"].rpartition("/")[2]]
    assert {*named["properties"]} == {"id", "title", "author"}


def test_clients_take_the_same_names(contract: Contract) -> None:
    for text in (render_typescript(contract), render_python(contract)):
        listing = text[text.index("list") :]
        for name in ("title", "done", "due", "reader_name", "sort", "limit", "cursor", "total"):
            assert name in listing
        assert "startsWith" in text
        assert "strictQuery" not in text
