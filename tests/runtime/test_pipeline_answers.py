"""What goes back: statuses, bodies, headers, errors that hide what happened."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bbops.compiler.testing.client import Client
from tests.conftest import Serving, run, with_function
from tests.support.raw_requests import Ask, routes, talk

WHO = "steps:\n  - return:\n      value: ${ vars.auth }\n"
FAIL = (
    "input: { value?: json }\nsteps:\n  - loop:\n"
    "      while: input.value != null\n      max: 1\n      steps: [set: { a: 1 }]\n"
)


# ---- answers


def answer(ask: Ask, text: str, value: Any = None, **options: Any) -> Any:
    return ask(
        with_function(f"input: {{ value?: json? }}\n{text}"),
        "POST",
        "/run",
        {"value": value},
        **options,
    )


def returned(more: str) -> str:
    return f"steps:\n  - return: {{ {more} }}\n"


def test_a_function_without_return_answers_an_empty_200(ask: Ask) -> None:
    reply = answer(ask, "steps:\n  - set: { a: 1 }\n")
    assert (reply.status, reply.body, reply.headers["content-length"]) == (200, b"", "0")


def test_every_answer_names_its_release(serving: Serving) -> None:
    async def tell(client: Client) -> None:
        for method, path in (
            ("GET", "/x"),
            ("POST", "/x"),
            ("OPTIONS", "/x"),
            ("GET", "/"),
            ("HEAD", "/x"),
        ):
            assert (await client.ask(method, path)).headers["x-release"] == "0123456789ab"

    talk(serving, routes("GET /x who JWT", who=WHO), tell)


@pytest.mark.parametrize("status", [204, 304])
def test_some_statuses_have_no_body(status: int, ask: Ask) -> None:
    reply = answer(ask, returned(f"status: {status}, value: hello"))
    assert (reply.status, reply.body) == (status, b"")
    assert "content-length" not in reply.headers


def test_null_is_a_value_and_no_value_is_none(ask: Ask) -> None:
    assert answer(ask, returned("value: null")).body == b"null"
    assert answer(ask, returned("status: 201")).body == b""


def test_an_answer_may_have_headers_of_its_own(ask: Ask) -> None:
    reply = answer(
        ask, returned("value: 1, headers: { X-Total: '${ 41 + 1 }', cache-control: no-store }")
    )
    assert (reply.headers["x-total"], reply.headers["cache-control"]) == ("42", "no-store")
    assert reply.headers["content-type"] == "application/json"


def test_another_content_type_sends_the_value_as_text(ask: Ask) -> None:
    reply = answer(ask, returned("value: 'größer ${ 1 + 1 }', contentType: text/plain"))
    assert reply.body.decode() == "größer 2"
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"
    svg = answer(ask, returned("value: <svg/>, contentType: image/svg+xml"))
    assert svg.headers["content-type"] == "image/svg+xml"


def test_a_map_is_no_text_of_another_content_type(ask: Ask) -> None:
    text = returned("value: '${ input.value }', contentType: text/plain")
    assert answer(ask, text, {"a": 1}).status == 400


def test_binary_is_sent_as_it_is(serving: Serving) -> None:
    files = with_function(
        "steps:\n  - find: { table: files, one: required }\n    as: file\n"
        "  - return:\n      value: ${ vars.file.data }\n      contentType: image/png\n"
    )
    files["tables/files.yaml"] = (
        "columns:\n  id: { type: integer, primaryKey: true }\n  data: { type: binary }\n"
        "seed: [ { id: 1, data: iVBORw0KGgo= } ]\n"
    )

    async def tell(client: Client) -> None:
        assert (await client.ask("POST", "/run")).body == b"\x89PNG\r\n\x1a\n"

    talk(serving, files, tell)


@pytest.mark.parametrize("status", [99, 199, 600, 10**18, -1, 200.5, "200", None, True, [200]])
def test_a_computed_status_out_of_range_is_refused(status: Any, ask: Ask) -> None:
    assert answer(ask, returned("status: '${ input.value }', value: x"), status).status == 400


@pytest.mark.parametrize("status", [200, 399, 600, "404", None])
def test_a_computed_status_that_is_no_error_cannot_be_thrown(status: Any, ask: Ask) -> None:
    assert answer(ask, "steps:\n  - throw: { status: '${ input.value }' }\n", status).status == 400


@pytest.mark.parametrize("value", ["a\r\nx: 1", "a\nb", "a\rb", "a\0b", "\x7f", "\x1f"])
@pytest.mark.parametrize("step", ["return", "throw"])
def test_a_header_value_that_ends_its_line_is_never_sent(step: str, value: str, ask: Ask) -> None:
    rest = "status: 400, value: 1, headers: { x-name: '${ input.value }' }"
    reply = answer(ask, f"steps:\n  - {step}: {{ {rest} }}\n", value)
    assert reply.status == 400
    assert "x-name" not in reply.headers


@pytest.mark.parametrize(
    "name", ["x\r\ny", "", "a b", "Content-Length", "transfer-encoding", "x-release", "é", "x:"]
)
def test_a_header_name_from_outside_cannot_be_one_of_ours(name: str, ask: Ask) -> None:
    reply = answer(ask, returned("value: 1, headers: '${ input.value }'"), {name: "1"})
    assert reply.status == 400
    assert {*reply.headers} == {
        "content-type", "content-length", "cache-control", "x-release", "x-request-id",
        "x-content-type-options",
    }  # fmt: skip


@pytest.mark.parametrize("value", [5, "text", ["a"], {"x": None}, {"x": {"y": 1}}])
def test_headers_are_a_map_of_texts(value: Any, ask: Ask) -> None:
    reply = answer(ask, returned("value: 1, headers: '${ input.value }'"), value)
    assert reply.status == 400


# ---- errors


def test_a_thrown_message_is_the_projects_usual_error(ask: Ask) -> None:
    reply = answer(ask, "steps:\n  - throw: { status: 404, message: Gone fishing }\n")
    assert reply.json == {"error": {"code": "notFound", "message": "Gone fishing"}}


def test_a_thrown_value_is_the_whole_answer(ask: Ask) -> None:
    reply = answer(
        ask, "steps:\n  - throw: { status: 418, value: { tea: true }, headers: { x-pot: small } }\n"
    )
    assert (reply.status, reply.json, reply.headers["x-pot"]) == (418, {"tea": True}, "small")


def test_a_broken_rule_of_the_database_names_its_columns(ask: Ask) -> None:
    twice = "steps:\n  - insert: { table: notes, data: { id: 1, title: again } }\n"
    reply = answer(ask, twice)
    assert (reply.status, reply.json["error"]["code"]) == (409, "conflict")
    assert set(reply.json["error"]["fields"]) == {"id"}


def test_a_500_says_only_a_request_id_and_the_log_says_where(serving: Serving) -> None:
    async def tell(client: Client) -> None:
        reply = await client.ask("POST", "/run", {"value": "secret text"})
        assert reply.status == 500
        request_id = reply.headers["x-request-id"]
        assert reply.json == {
            "error": {
                "code": "serverError", "message": "internal server error", "requestId": request_id,
            }
        }  # fmt: skip
        ((level, message, data),) = client.release.answering.host.log.lines
        assert level == "error"
        assert "the loop goes on" in message
        assert "secret text" not in message
        assert data == {
            "step": "functions/run.yaml:3", "route": "POST /run", "request": request_id,
        }  # fmt: skip

    talk(serving, with_function(FAIL), tell)


def test_detailed_answers_tell_what_happened_and_where(serving: Serving) -> None:
    async def tell() -> None:
        async with serving(with_function(FAIL), detailed=True) as client:
            error = (await client.ask("POST", "/run", {"value": "a"})).json["error"]
            assert error["at"] == "functions/run.yaml:3"
            assert "the loop goes on" in error["detail"]

    run(tell())


def test_a_value_that_cannot_be_sent_does_not_break_the_answer(ask: Ask) -> None:
    more = "value: '${ input.value }', headers: { x: '${ input.value }' }"
    reply = answer(ask, f"steps:\n  - throw: {{ status: 418, {more} }}\n", ["no text"])
    assert reply.status == 400


# ---- in flight


def test_no_request_is_in_flight_after_it_was_answered_or_cancelled(serving: Serving) -> None:
    slow = "steps:\n  - hashPassword: { password: a, rounds: 8 }\n    as: x\n"

    async def tell(client: Client) -> None:
        await client.ask("POST", "/run")
        assert client.release.in_flight == 0
        task = asyncio.create_task(client.ask("POST", "/run"))
        await asyncio.sleep(0)
        assert client.release.in_flight == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert client.release.in_flight == 0

    talk(serving, with_function(slow), tell)
