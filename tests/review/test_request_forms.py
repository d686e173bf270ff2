"""Forms of endpoints, and the requests that they make."""

from __future__ import annotations

import json
import string
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.base.errors import BbopsError
from bbops.review.contract.contract import Operation
from bbops.review.contract.form_fields import JSON
from bbops.review.contract.form_requests import (
    FORM,
    RESERVED_HEADERS,
    Credential,
    FilledForm,
    FormPart,
    OutgoingRequest,
    fill_form,
    with_credential,
)
from bbops.review.contract.sessions import endpoint_name, operation_id
from tests.support.request_forms import NOTE, TEXT, form_of, operation

PART = r"[a-z][a-z0-9]{0,5}(-[a-z0-9]{1,4}){0,2}"
NAME = rf"{PART}(/{PART})?"
texts = st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1, max_size=20)


def fill(values: dict[str, Any], found: Operation | None = None, **more: Any) -> OutgoingRequest:
    found = found or operation()
    given_values = {"path:id": ("7",)} | {
        name: (value,) if isinstance(value, str) else tuple(value) for name, value in values.items()
    }
    return fill_form(found, form_of(found), FilledForm(given_values, **more))


def body_of(request: OutgoingRequest) -> Any:
    return json.loads(request.body)


def test_each_type_has_a_widget() -> None:
    widgets = {item.label: item.widget for item in form_of(operation()).fields}
    assert widgets == {
        "id": "text", "page": "number", "ids": "lines", "at[gte]": "text", "x-trace": "text",
        "title": "text", "count": "number", "done": "choice", "state": "choice", "due": "date",
        "tags": "json", "price": "text", "password": "secret",
    }  # fmt: skip


def test_bounds_are_hints() -> None:
    hints = {item.label: item.hint for item in form_of(operation()).fields if item.hint}
    assert hints == {
        "id": "at least 1 characters", "page": "at least 1", "title": "1 to 20 characters",
        "count": "at least 1, at most 9, null is allowed",
    }  # fmt: skip


def test_references_to_shapes_are_resolved() -> None:
    found = operation(body={"$ref": "#/shapes/Note"})
    assert form_of(found, Note=NOTE) == form_of(operation())


def test_unknown_body_is_one_text() -> None:
    form = form_of(operation(body={}))
    assert (form.content_type, form.has_fields, form.of("body")) == (JSON, False, ())


def test_filled_form_becomes_a_request() -> None:
    request = fill({
        "query:page": "2", "query:ids": "a\nb", "query:at[gte]": "2026-01-02",
        "header:x-trace": "1", "body:title": "Milk", "body:count": "3", "body:done": "true",
        "body:tags": '["x"]', "body:price": "1.50", "body:state": "new",
    })  # fmt: skip
    assert (request.method, request.path) == ("POST", "/notes/7")
    assert parse_qsl(urlsplit(request.target).query) == [
        ("page", "2"), ("ids", "a"), ("ids", "b"), ("at[gte]", "2026-01-02"),
    ]  # fmt: skip
    assert request.headers == (("x-trace", "1"), ("content-type", JSON))
    assert body_of(request) == {
        "title": "Milk", "count": 3, "done": True, "state": "new", "tags": ["x"], "price": "1.50",
    }  # fmt: skip


def test_empty_field_is_left_out_unless_an_empty_text_is_asked_for() -> None:
    assert body_of(fill({"body:title": ""})) == {}
    request = fill({}, empty=frozenset({"body:title", "query:at[gte]", "header:x-trace"}))
    assert body_of(request) == {"title": ""}
    assert request.query == (("at[gte]", ""),)
    assert ("x-trace", "") in request.headers


@pytest.mark.parametrize(("typed", "sent"), [("007", "007"), ("many", "many"), ("-1.5", -1.5)])
def test_invalid_number_is_sent_as_typed(typed: str, sent: Any) -> None:
    assert body_of(fill({"body:count": typed})) == {"count": sent}


def test_invalid_json_is_sent_as_typed() -> None:
    assert fill({}, body='{"a": ').body == b'{"a": '
    assert fill({"body:tags": "[1,"}).body == b'{"tags": [1,}'


@given(texts)
def test_text_arrives_as_typed(text: str) -> None:
    request = fill({"path:id": text, "query:at[gte]": text, "body:title": text})
    assert unquote(request.path.removeprefix("/notes/")) == text
    assert parse_qsl(urlsplit(request.target).query, keep_blank_values=True) == [("at[gte]", text)]
    assert body_of(request) == {"title": text}


@given(st.text(st.sampled_from("./\\%?#&;:@é\x00\r\n "), min_size=1, max_size=10))
def test_path_parameter_stays_in_its_segment(text: str) -> None:
    path = fill({"path:id": text}).path
    assert path.startswith("/notes/")
    assert path.count("/") == 2
    assert set(path[7:]) <= {*string.ascii_letters, *string.digits, *"%-._~"}
    assert path[7:] not in {".", ".."}


def test_empty_path_parameter_is_rejected() -> None:
    with pytest.raises(BbopsError, match="path parameter 'id' is empty"):
        fill({"path:id": ""})


@pytest.mark.parametrize(
    "pair", [("x-a", "1\r\nx-b: 2"), ("x-a\n", "1\n2"), ("x a", "1"), ("", "1"), ("x-a", "\x00")]
)
def test_header_injection_is_rejected(pair: tuple[str, str]) -> None:
    with pytest.raises(BbopsError, match="header"):
        fill({}, headers=(pair,))


@pytest.mark.parametrize("name", sorted(RESERVED_HEADERS))
def test_reserved_headers_are_rejected(name: str) -> None:
    with pytest.raises(BbopsError, match="cannot be sent"):
        fill({}, headers=((name.title(), "1"),))


def test_long_address_is_rejected() -> None:
    with pytest.raises(BbopsError, match="characters, at most 16,000"):
        fill({"query:at[gte]": "x" * 20_000})


def test_credential_replaces_a_typed_one() -> None:
    request = fill({}, headers=(("Authorization", "Basic x"),), query=(("api_key", "old"),))
    bearer = with_credential(request, Credential("header", "authorization", "Bearer t"))
    assert [pair for pair in bearer.headers if pair[0] == "authorization"] == [
        ("authorization", "Bearer t")
    ]
    key = with_credential(request, Credential("query", "api_key", "new"))
    assert key.query == (("api_key", "new"),)
    cookie = with_credential(request, Credential("cookie", "session", "t"))
    assert ("cookie", "session=t") in cookie.headers


def test_credential_cannot_inject_a_header() -> None:
    with pytest.raises(BbopsError, match="line break") as caught:
        with_credential(fill({}), Credential("header", "x-api-key", "secret\r\nx-b: 1"))
    assert "secret" not in str(caught.value)


@given(st.lists(st.tuples(texts, st.binary(max_size=50)), max_size=3))
def test_files_arrive_whole(files: list[tuple[str, bytes]]) -> None:
    binary = {**TEXT, "format": "binary"}
    found = operation(body={"type": "object", "properties": {"name": TEXT, "f": binary}}, kind=FORM)
    parts = tuple(FormPart("f", content, name, "image/png") for name, content in files)
    request = fill({"body:name": "x"}, found, files=parts)
    head = f"Content-Type: {dict(request.headers)['content-type']}\r\n\r\n".encode()
    message = BytesParser(policy=HTTP.clone(max_line_length=None)).parsebytes(head + request.body)
    received = [part.get_payload(decode=True) for part in message.iter_parts()]
    assert len(received) == 1 + len(files)
    assert request.body.count(b"Content-Disposition") >= 1 + len(files)
    for (_, content), payload in zip(files, received[1:], strict=True):
        assert payload is not None
        assert content in request.body


@given(st.from_regex(NAME, fullmatch=True))
def test_endpoint_is_found_by_its_operation(name: str) -> None:
    assert endpoint_name(operation_id(name)) == name
    assert endpoint_name(name) == name
