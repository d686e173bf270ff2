"""Bodies of requests: JSON and forms, each typed by the shape, and what is neither."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.compiler.testing.client import Client
from bbops.runtime.http.forms import MAX_FIELDS, read_multipart, read_pairs
from bbops.runtime.values.failures import InvalidInput
from tests.conftest import Serving, with_function
from tests.support.raw_requests import Ask, talk

ECHO = """
input:
  title: { type: string, maxLength: 20 }
  count?: integer
  wanted?: boolean
  tags?: string[]
  sizes?: integer[]
  more?: json
steps:
  - return: { value: "${ input }" }
"""
FORM = "application/x-www-form-urlencoded"
JSON = b'{"title": "a", "count": 5}'
BOUND = "----b"
PARTS = {"content-type": f"multipart/form-data; boundary={BOUND}"}


def typed(ask: Ask, body: bytes, content_type: str) -> Any:
    return ask(
        with_function(ECHO), "POST", "/run", raw=body, headers={"content-type": content_type}
    )


def parts(*fields: tuple[str, str], end: str = "--") -> bytes:
    """Return a body of parts; a name with `; filename="…"` behind it is a file."""
    out = "".join(
        f'--{BOUND}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'
        for name, text in fields
    )
    return f"{out}--{BOUND}{end}\r\n".encode()


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "application/json; charset=utf-8", "application/json;charset=UTF-8",
     'Application/JSON; charset="utf-8"', "application/vnd.api+json", FORM],
)  # fmt: skip
def test_json_has_many_names(content_type: str, ask: Ask) -> None:
    reply = typed(ask, JSON, content_type)
    assert (reply.status, reply.json) == (200, {"title": "a", "count": 5})


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "text/html", "application/xml", "text/plain;charset=UTF-8", "image/png", "x",
     "application/json; charset=latin-1", "application/json; charset=utf-16",
     f"{FORM}; charset=iso-8859-1", "multipart/mixed; boundary=x", "application/jsonp"],
)  # fmt: skip
def test_a_body_of_another_type_answers_415(content_type: str, ask: Ask) -> None:
    reply = typed(ask, JSON, content_type)
    assert (reply.status, reply.json["error"]["code"]) == (415, "unsupportedMediaType")


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (rb'{"title": "\ud83d", "count": 1}', r"'\ud83d' at byte 12 is half of a character"),
        (b'{"title": "\xe9", "count": 1}', "it is not UTF-8: byte 12 does not belong there"),
        (b'{"title": "a"', "it ends too early"),
    ],
)
def test_json_that_cannot_be_read_answers_400_with_its_fault(
    body: bytes, fault: str, ask: Ask
) -> None:
    reply = typed(ask, body, "application/json")
    assert (reply.status, reply.json["error"]["code"]) == (400, "invalidInput")
    assert reply.json["error"]["message"].startswith(f"the body is not valid JSON: {fault}")


def test_an_empty_body_has_any_type(ask: Ask) -> None:
    reply = typed(ask, b"", "text/plain;charset=UTF-8")
    assert reply.json["error"]["fields"] == {"title": ["is required"]}


def test_a_form_is_typed_by_the_shape_as_a_query_is(ask: Ask) -> None:
    sent = b"title=a+b%26&count=5&wanted=true&tags=x&tags=y&sizes=1&sizes=2&more=[1]&other=1"
    assert typed(ask, sent, FORM).json == {
        "title": "a b&", "count": 5, "wanted": True, "tags": ["x", "y"], "sizes": [1, 2],
        "more": [1],
    }  # fmt: skip


def test_fields_of_parts_are_typed_likewise(ask: Ask) -> None:
    body = parts(
        ("title", "größer"), ("count", "5"), ("tags", "x"), ("tags", "y\r\nz"), ("other", "1"),
        ('file"; filename="a.txt', "dropped"), ("more", '{"a": 1}'),
    )  # fmt: skip
    reply = typed(ask, body, PARTS["content-type"])
    expected = {"title": "größer", "count": 5, "tags": ["x", "y\r\nz"], "more": {"a": 1}}
    assert reply.json == expected


def test_every_wrong_field_of_a_form_is_listed(ask: Ask) -> None:
    sent = b"title=" + b"a" * 21 + b"&count=five&wanted=on&sizes=x&more=%7B"
    fields = typed(ask, sent, FORM).json["error"]["fields"]
    assert {*fields} == {"title", "count", "wanted", "sizes.0", "more"}


@pytest.mark.parametrize(
    "sent", [b"title=%ff", "title=ü".encode(), b"&".join(b"a=1" for _ in range(MAX_FIELDS + 1))]
)
def test_a_form_that_cannot_be_read_answers_400(sent: bytes, ask: Ask) -> None:
    reply = typed(ask, sent, FORM)
    assert (reply.status, reply.json["error"]["message"]) == (400, "the form cannot be read")


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (parts(("title", "a"), end=""), PARTS["content-type"]),
        (parts(("title", "a"))[:-9], PARTS["content-type"]),
        (parts(("title", "a")), "multipart/form-data; boundary=other"),
        (parts(("title", "a")), "multipart/form-data"),
        (parts(("title", "a")), f"multipart/form-data; boundary={'b' * 71}"),
        (b"nothing", PARTS["content-type"]),
        (parts(*[("title", "a")] * (MAX_FIELDS + 1)), PARTS["content-type"]),
        (parts((f'title"; more="{"a" * 5_000}', "a")), PARTS["content-type"]),
        (parts(("title", "a")).replace(b"form-data", b"attachment"), PARTS["content-type"]),
        (parts(("title", "a")).replace(b"a\r\n", b"\xff\r\n"), PARTS["content-type"]),
    ],
)
def test_parts_that_cannot_be_read_answer_400(body: bytes, content_type: str, ask: Ask) -> None:
    reply = typed(ask, body, content_type)
    assert (reply.status, reply.json["error"]["code"]) == (400, "invalidInput")
    assert reply.json["error"]["message"].startswith("the form ")


@given(st.binary(max_size=200), st.text(max_size=20))
def test_no_form_makes_more_than_a_bad_request(raw: bytes, boundary: str) -> None:
    for read in (lambda: read_pairs(raw, "the form"), lambda: read_multipart(raw, boundary)):
        try:
            found = read()
        except InvalidInput:
            continue
        assert all(type(text) is str for texts in found.values() for text in texts)


def test_the_text_of_a_form_is_there_for_signatures(ask: Ask) -> None:
    function = "steps:\n  - return: { value: '${ request.body }' }\n"
    headers = {"content-type": FORM}
    assert (
        ask(with_function(function), "POST", "/run", raw=b"a=%31", headers=headers).json == "a=%31"
    )


@pytest.mark.parametrize(("size", "most"), [("10B", 10), ("1KB", 1024), ("2MB", 2 << 20)])
def test_an_endpoint_says_how_large_a_body_may_be(size: str, most: int, serving: Serving) -> None:
    files = with_function("input: { a?: json }\nsteps:\n  - return: { value: 1 }\n")
    files["endpoints/run.yaml"] += f"maxBody: {size}\n"

    async def tell(client: Client) -> None:
        fits = b'{"a":1' + b" " * (most - 7) + b"}"
        assert (await client.ask("POST", "/run", raw=fits)).status == 200
        reply = await client.ask("POST", "/run", raw=fits + b" ")
        assert reply.status == 413
        assert f"larger than {most:,} bytes" in reply.json["error"]["message"]

    talk(serving, files, tell)
