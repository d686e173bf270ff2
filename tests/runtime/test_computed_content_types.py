"""`return` with a `contentType` that is an expression."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bbops.base.diagnostics import Diagnostic
from bbops.compiler.check import validate
from bbops.compiler.testing.client import Reply
from bbops.review.contract.describe import describe
from bbops.review.contract.files import FORMATS
from bbops.review.contract.outputs import outputs
from bbops.runtime.values.file_types import UNKNOWN, file_type
from bbops.source.tree import MemoryTree
from tests.conftest import with_function
from tests.support.workbench import Bench

TEXT = """
input: { type: string, text: string }
steps:
  - return: { value: "<p>${ input.text }</p>", contentType: "${ input.type }" }
"""
STORED = """
input: { type: string }
steps:
  - insert: { table: pictures, data: { id: 1, bytes: PHA+, type: "${ input.type }" } }
    as: row
  - return: { value: "${ vars.row.bytes }", contentType: "${ vars.row.type }" }
"""
FILES = {
    "tables/pictures.yaml": (
        "columns:\n  id: { type: integer, primaryKey: true }\n"
        "  bytes: { type: binary }\n  type: { type: string }\n"
    )
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with Bench(tmp_path_factory.mktemp("bench"), FILES) as found:
        yield found


def answer(bench: Bench, content_type: object, text: str = "<b>&") -> Reply:
    return bench.ask(bench.client(TEXT), {"type": content_type, "text": text})


def test_a_computed_type_is_that_of_the_answer(bench: Bench) -> None:
    reply = answer(bench, "text/csv")
    assert reply.headers["content-type"] == "text/csv; charset=utf-8"
    assert reply.body == b"<p><b>&</p>"


@pytest.mark.parametrize("markup", ["text/html", "Text/HTML; charset=utf-8", "image/svg+xml"])
def test_a_value_is_escaped_if_its_computed_type_is_markup(bench: Bench, markup: str) -> None:
    reply = answer(bench, markup)
    assert reply.body == b"<p>&lt;b&gt;&amp;</p>"
    assert reply.headers["content-type"].startswith(markup.lower())


def test_a_computed_page_has_the_headers_of_a_page(bench: Bench) -> None:
    fixed = TEXT.replace('"${ input.type }"', "text/html")
    wanted = bench.ask(bench.client(fixed), {"type": "", "text": ""}).headers
    found = answer(bench, "TEXT/HTML").headers
    changing = {"x-request-id", "content-length"}
    assert {*found} - changing == {*wanted} - changing


@pytest.mark.parametrize(
    "wrong",
    ["", "html", "text/", "text/html\r\nset-cookie: a=b", "a/b; c", "x" * 300 + "/y", "é/b"],
)
def test_a_text_that_is_not_a_type_is_an_error_of_the_client(bench: Bench, wrong: str) -> None:
    reply = answer(bench, wrong)
    assert reply.status == 400
    assert "expected a content type such as 'text/plain'" in reply.json["error"]["message"]


def test_bytes_are_sent_with_their_stored_type(bench: Bench) -> None:
    reply = bench.ask(bench.client(STORED), {"type": "image/png"})
    assert (reply.headers["content-type"], reply.body) == ("image/png", b"<p>")


def test_bytes_with_a_type_that_browsers_run_are_not_a_page(bench: Bench) -> None:
    bench.sql("DELETE FROM pictures")
    reply = bench.ask(bench.client(STORED), {"type": "text/html"})
    assert (reply.headers["content-type"], reply.body) == (UNKNOWN, b"<p>")


@pytest.mark.parametrize(
    "content_type",
    ["text/html", "TEXT/HTML", "image/svg+xml", "application/xml; charset=utf-8",
     "text/javascript", "application/ecmascript"],
)  # fmt: skip
def test_a_file_with_a_computed_type_that_browsers_run_is_unknown(content_type: str) -> None:
    assert file_type(content_type) == UNKNOWN


def mistakes(content_type: str, shape: str = "string") -> list[Diagnostic]:
    text = TEXT.replace("${ input.type }", content_type).replace("type: string", f"type: {shape}")
    return list(validate(MemoryTree(with_function(text)))[1])


@pytest.mark.parametrize(
    ("content_type", "shape", "code"),
    [
        ("${ input.type }", "integer", "type"),
        ("${ input.type }", "string?", "maybe-null"),
        ("html", "string", "bad-value"),
        ("${ 5 }", "string", "type"),
    ],
)
def test_a_type_that_can_never_be_sent_is_a_mistake(
    content_type: str, shape: str, code: str
) -> None:
    (found,) = mistakes(content_type, shape)
    assert (found.code, found.place.file, found.place.line) == (code, "functions/run.yaml", 4)


def test_the_contract_says_that_any_type_may_be_answered() -> None:
    project = validate(MemoryTree(with_function(TEXT)))[0]
    assert project is not None
    (found,) = outputs(project, "run")
    assert (found.content_type, found.schema) == ("*/*", {"type": "string"})


def test_typed_clients_return_the_bytes_of_a_computed_type() -> None:
    project = validate(MemoryTree(with_function(TEXT)))[0]
    assert project is not None
    contract = describe(project)
    assert "RunAnswer = bytes" in FORMATS["python"].render(contract)
    assert "export type RunAnswer = Blob;" in FORMATS["typescript"].render(contract)
