"""What a request carries, and what becomes of it: body, query, headers."""

from __future__ import annotations

import pytest

from bbops.compiler.testing.client import Client
from tests.conftest import Serving, with_function
from tests.support.raw_requests import Ask, raw_ask, routes, talk

ECHO = """
query:
  page?: { type: integer, minimum: 1, default: 1 }
  tags?: string[]
steps:
  - return:
      value: { page: "${ query.page }", tags: "${ query.tags }", other: "${ query.other }" }
"""
MAX_BODY_BYTES = 1 << 20
SHOW_HEADERS = "steps:\n  - return:\n      value: ${ headers }\n"
SHOW_BODY = "input: { value?: json }\nsteps:\n  - return:\n      value: ${ input }\n"


def test_every_wrong_field_of_body_query_and_path_is_listed(ask: Ask) -> None:
    function = """
input: { name: string, age: { type: integer, minimum: 18 } }
query: { page?: integer }
params: { id: uuid }
steps:
  - return: { value: ok }
"""
    files = routes("POST /x/:id f None", f=function)
    reply = ask(files, "POST", "/x/5?page=two", {"age": 3, "more": 1})
    assert reply.status == 400
    assert reply.json["error"]["code"] == "invalidInput"
    assert set(reply.json["error"]["fields"]) == {"name", "age", "page", "id"}


def test_what_is_not_declared_is_dropped_from_the_body(ask: Ask) -> None:
    reply = ask(with_function(SHOW_BODY), "POST", "/run", {"value": 1, "more": 2})
    assert reply.json == {"value": 1}


@pytest.mark.parametrize(
    "raw",
    [b"{", b"not json", b"[1]", b'"text"', b"5", b"\xff", b'{"value": NaN}', b'{"a": 1} {}',
     b"[" * 100_000, b'{"value": ' * 5_000, b'{"value": "\\ud800"}', b"\0", b"\xef\xbb\xbf{}"],
    ids=lambda raw: repr(raw[:14]),
)  # fmt: skip
def test_a_body_that_is_no_json_object_answers_400(raw: bytes, ask: Ask) -> None:
    reply = ask(with_function(SHOW_BODY), "POST", "/run", raw=raw)
    assert (reply.status, reply.json["error"]["code"]) == (400, "invalidInput")


@pytest.mark.parametrize("raw", [b"", b"  \n", b"{}", b"null"])
def test_an_empty_body_is_an_empty_object(raw: bytes, ask: Ask) -> None:
    reply = ask(with_function(SHOW_BODY), "POST", "/run", raw=raw)
    assert (reply.status, reply.json) == (200, {})


def test_a_body_of_one_mebibyte_is_read_and_a_longer_one_answers_413(serving: Serving) -> None:
    async def tell(client: Client) -> None:
        fits = b'{"value":"' + b"a" * (MAX_BODY_BYTES - 12) + b'"}'
        assert (await client.ask("POST", "/run", raw=fits)).status == 200
        reply = await client.ask("POST", "/run", raw=fits + b" ")
        assert (reply.status, reply.json["error"]["code"]) == (413, "payloadTooLarge")
        assert "1,048,576 bytes" in reply.json["error"]["message"]
        assert reply.headers["connection"] == "close"

    talk(serving, with_function(SHOW_BODY), tell)


@pytest.mark.parametrize(
    "length", ["abc", "-1", "+5", "1e9", "0x10", "", " ", "5, 5", "١٢", "٣" * 20, "3.5"]
)
def test_a_content_length_that_is_no_number_is_not_believed(length: str, serving: Serving) -> None:
    async def tell(client: Client) -> None:
        headers = [("content-length", length)]
        parts = [b'{"value"', b": 1}"]
        status, _, body = await raw_ask(client, "POST", "/run", headers=headers, parts=parts)
        assert (status, body) == (200, {"value": 1})

    talk(serving, with_function(SHOW_BODY), tell)


@pytest.mark.parametrize("length", ["2000000", "9" * 400])
def test_a_body_that_says_it_is_too_long_is_not_read(length: str, serving: Serving) -> None:
    async def tell(client: Client) -> None:
        headers = [("content-length", length)]
        assert (await raw_ask(client, "POST", "/run", headers=headers, parts=[]))[0] == 413

    talk(serving, with_function(SHOW_BODY), tell)


@pytest.mark.parametrize(
    "parts", [[b"a" * 2_000_000], [b"a" * 600_000] * 4, [b""] * 9 + [b"a" * 2_000_000]]
)
def test_a_body_longer_than_it_says_answers_413(parts: list[bytes], serving: Serving) -> None:
    async def tell(client: Client) -> None:
        headers = [("content-length", "5")]
        assert (await raw_ask(client, "POST", "/run", headers=headers, parts=parts))[0] == 413

    talk(serving, with_function(SHOW_BODY), tell)


def test_a_client_that_leaves_in_the_middle_of_its_body_runs_nothing(serving: Serving) -> None:
    add = "input: { title?: string }\nsteps:\n  - insert: { table: notes, data: { title: ran } }\n"

    async def tell(client: Client) -> None:
        found = await raw_ask(client, "POST", "/run", parts=[b"{}"], leaves=True)
        assert found == (0, {}, None)
        assert len(await client.database.read("SELECT * FROM notes")) == 3
        assert client.release.in_flight == 0

    talk(serving, with_function(add), tell)


def test_the_query_is_typed_where_declared_and_text_elsewhere(ask: Ask) -> None:
    files = routes("GET /x echo None", echo=ECHO)
    reply = ask(files, "GET", "/x?page=2&tags=a&tags=b&other=1&other=2")
    assert reply.json == {"page": 2, "tags": ["a", "b"], "other": "1"}
    assert ask(files, "GET", "/x").json == {"page": 1, "tags": None, "other": None}
    assert ask(files, "GET", "/x?other=").json["other"] == ""
    assert ask(files, "GET", "/x?other=a+b%20c%26").json["other"] == "a b c&"


@pytest.mark.parametrize(
    "query", ["a=%ff", "a=\xff", "&".join(f"a{n}=1" for n in range(10_000)), "page=x", "page=0"]
)
def test_a_bad_query_answers_400(query: str, ask: Ask) -> None:
    reply = ask(routes("GET /x echo None", echo=ECHO), "GET", f"/x?{query}")
    assert (reply.status, reply.json["error"]["code"]) == (400, "invalidInput")


@pytest.mark.parametrize(
    "query", ["%", "a=%zz", "=", "&&&", "a=b=c", "a;b", "?", "a[]=1", "a" * 9_000]
)
def test_an_odd_query_is_read_as_far_as_it_goes(query: str, ask: Ask) -> None:
    assert ask(routes("GET /x echo None", echo=ECHO), "GET", f"/x?{query}").status == 200


def test_a_header_that_comes_twice_is_one_list(serving: Serving) -> None:
    headers = [("accept", "a"), ("Accept", "b"), ("cookie", "a=1"), ("cookie", "b=2"), ("x", "1")]

    async def tell(client: Client) -> None:
        _, _, body = await raw_ask(client, "GET", "/x", headers=headers)
        assert body == {"accept": "a, b", "cookie": "a=1; b=2", "x": "1"}

    talk(serving, routes("GET /x h None", h=SHOW_HEADERS), tell)


def test_a_function_sees_the_request_itself(ask: Ask) -> None:
    show = "steps:\n  - return:\n      value: ${ request }\n"
    reply = ask(routes("POST /x/:id show None", show=show), "POST", "/x/5?a=1", raw=b"\xffhello")
    seen = dict(reply.json)
    assert seen.pop("id")
    assert seen == {
        "method": "POST", "path": "/x/5", "url": "/x/5?a=1", "ip": "127.0.0.1", "body": "�hello",
    }  # fmt: skip
