"""http: requests as they are sent, answers as they are read, failures as they are caught."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bbops.base.host import HttpResponse
from bbops.compiler.testing.host import FakeHttp
from bbops.runtime.values.failures import HttpFailure
from bbops.runtime.values.outside import read_pause
from tests.conftest import NOTES
from tests.support.workbench import Bench

URL = "https://api.example.com/x"
ASK = """
input: { any?: json }
steps:
  - try:
      - http: { url: https://api.example.com/x, MORE }
        retry: { attempts: 3, backoff: 1ms }
        as: answer
    catch:
      - return: { value: { code: "${ error.code }", status: "${ error.status }", say: "${ error.message }" } }
  - return: { value: "${ vars.answer }" }
"""  # noqa: E501


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Bench(tmp_path, {"tables/notes.yaml": NOTES}) as found:
        yield found


def http(bench: Bench) -> FakeHttp:
    assert isinstance(bench.host.http, FakeHttp)
    return bench.host.http


def ask(bench: Bench, more: str, body: Any = None) -> Any:
    return bench.run(ASK.replace("MORE", more), body)


def test_a_request_is_made_of_values(bench: Bench) -> None:
    more = "method: PUT, query: { a: [1, 2], b: null, c: 'x y' }, headers: { X-Key: k }, body: null"
    ask(bench, more)
    (sent,) = http(bench).sent
    assert (sent.method, sent.url, sent.body) == ("PUT", f"{URL}?a=1&a=2&c=x+y", b"null")
    assert sent.headers == {"content-type": "application/json", "x-key": "k"}


def test_a_form_is_sent_as_one(bench: Bench) -> None:
    ask(bench, "method: POST, form: { a: 'ä&', b: true }")
    assert http(bench).sent[0].body == b"a=%C3%A4%26&b=true"


@pytest.mark.parametrize(
    ("content_type", "body", "wanted"),
    [
        ("application/json", b'{"a": [1]}', {"a": [1]}),
        ("application/problem+json; charset=utf-8", b"1", 1),
        ("application/json", b"{", "{"),
        ("text/plain; charset=ISO-8859-1", b"\xe4", "ä"),
        ("text/plain", b"", None),
    ],
)
def test_an_answer_is_json_or_text(
    bench: Bench, content_type: str, body: bytes, wanted: Any
) -> None:
    http(bench).answers[URL] = HttpResponse(201, {"content-type": content_type}, body)
    found = ask(bench, "headers: {}")
    assert (found["status"], found["body"]) == (201, wanted)
    assert found["headers"] == {"content-type": content_type}


def test_another_status_is_an_error_unless_it_is_allowed(bench: Bench) -> None:
    http(bench).answers[URL] = HttpResponse(404, {}, b"")
    assert ask(bench, "headers: {}") == {
        "code": "httpFailed", "status": 404, "say": "'api.example.com' answered 404",
    }  # fmt: skip
    assert len(http(bench).sent) == 1
    assert ask(bench, "allowStatus: [404]")["status"] == 404


@pytest.mark.parametrize(
    "answer", [HttpResponse(503, {}, b""), HttpFailure("httpUnreachable", "gone")]
)
def test_what_may_pass_is_asked_again(bench: Bench, answer: Any) -> None:
    http(bench).answers[URL] = answer
    ask(bench, "headers: {}")
    assert len(http(bench).sent) == 3


LOST = HttpFailure("httpTimeout", "no answer", is_sent=True)
AWAY = HttpFailure("httpUnreachable", "nobody is there")
ANSWERS = {"lost": LOST, "away": AWAY, "500": HttpResponse(500, {}, b""),
           "503": HttpResponse(503, {}, b""), "429": HttpResponse(429, {}, b"")}  # fmt: skip


@pytest.mark.parametrize(
    ("more", "asked"),
    [
        ("method: GET", {"lost": 3, "away": 3, "500": 3, "503": 3, "429": 3}),
        ("method: PUT", {"lost": 3, "away": 3, "500": 3, "503": 3, "429": 3}),
        ("method: POST", {"lost": 1, "away": 3, "500": 1, "503": 3, "429": 3}),
        ("method: PATCH", {"lost": 1, "away": 3, "500": 1, "503": 3, "429": 3}),
        ("method: POST, headers: { Idempotency-Key: k }",
         {"lost": 3, "away": 3, "500": 3, "503": 3, "429": 3}),
    ],
)  # fmt: skip
def test_what_may_have_been_done_is_not_done_twice(
    bench: Bench, more: str, asked: dict[str, int]
) -> None:
    found = {}
    for name, answer in ANSWERS.items():
        http(bench).answers[URL] = answer
        http(bench).sent.clear()
        ask(bench, more)
        found[name] = len(http(bench).sent)
    assert found == asked


SLOW = """
input: { any?: json }
steps:
  - try:
      - http: { url: https://api.example.com/x, MORE }
        timeout: 20ms
        retry: { attempts: 3, backoff: 1ms }
    catch:
      - return: { value: "${ error.code }" }
"""


@pytest.mark.parametrize(
    ("more", "asked"),
    [("method: GET", 3), ("method: POST", 1), ("method: POST, headers: { idempotency-key: k }", 3)],
)
def test_a_timeout_of_the_step_does_not_do_it_twice(bench: Bench, more: str, asked: int) -> None:
    http(bench).seconds = 5
    assert bench.run(SLOW.replace("MORE", more)) == "timeout"
    assert len(http(bench).sent) == asked


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({"retry-after": "7"}, 7), ({"retry-after": "0"}, 0), ({"retry-after": "x"}, None), ({}, None),
     ({"retry-after": "9" * 400}, None), ({"retry-after": "999999999"}, 86_400),
     ({"retry-after": "Fri, 02 Jan 2026 03:04:15 GMT"}, 10),
     ({"retry-after": "Fri, 02 Jan 2026 03:00:00 GMT"}, 0),
     ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1767323105"}, 60),
     ({"x-ratelimit-remaining": "9", "x-ratelimit-reset": "1767323105"}, None)],
)  # fmt: skip
def test_how_long_another_server_asks_to_wait_is_told(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert read_pause(headers, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)) == seconds


def test_a_pause_that_is_longer_than_the_request_lasts_fails_at_once(bench: Bench) -> None:
    http(bench).answers[URL] = HttpResponse(429, {"retry-after": "50"}, b"")
    pause = ASK.replace("error.message", "error.retryAfter")
    assert bench.run(pause.replace("MORE", "method: GET"))["say"] == 50
    assert len(http(bench).sent) == 1


BAD_HEADERS = {
    "a\nb: c": "header 'x-a' cannot contain a line break",
    "a\r": "header 'x-a' cannot contain a line break",
    "\u0000": "header 'x-a' cannot contain a control character",
    "a\u007f": "header 'x-a' cannot contain a control character",
    "a" * 8001: "header 'x-a' cannot have more than 8000 characters",
}


@pytest.mark.parametrize("value", BAD_HEADERS)
def test_a_header_never_becomes_two(bench: Bench, value: str) -> None:
    found = ask(bench, "headers: { x-a: '${ input.any }' }", {"any": value})
    assert (found["code"], found["status"]) == ("httpInvalid", 400)
    assert http(bench).sent == []


SET_HEADERS = "input: { any: json }\nsteps:\n  - http: { url: %s, headers: %s }\n"


@pytest.mark.parametrize(("value", "message"), BAD_HEADERS.items())
def test_bad_header_value_of_a_client_is_a_400(bench: Bench, value: str, message: str) -> None:
    function = SET_HEADERS % (URL, "{ x-a: '${ input.any }' }")
    reply = bench.ask(bench.client(function), {"any": value})
    assert (reply.status, reply.json["error"]["message"]) == (400, message)


def test_bad_header_name_of_a_client_is_a_400(bench: Bench) -> None:
    client = bench.client(SET_HEADERS % (URL, "'${ input.any }'"))
    for name in ("x y", "Host", ""):
        reply = bench.ask(client, {"any": {name: "a"}})
        message = f"header '{name}' cannot be sent"
        assert (reply.status, reply.json["error"]["message"]) == (400, message)


def test_header_keeps_characters_outside_latin_1(bench: Bench) -> None:
    ask(bench, "headers: { x-a: '${ input.any }' }", {"any": "Zoë €\t"})
    assert http(bench).sent[0].headers["x-a"] == "Zoë €\t"


def test_answer_keeps_header_characters_outside_latin_1(bench: Bench) -> None:
    answer = "steps:\n  - return: { value: 1, headers: { x-latin: 'Zoë', x-more: 'Zoë €' } }\n"
    headers = dict(bench.ask(bench.client(answer)).headers)
    assert headers["x-latin"] == "Zoë"
    assert headers["x-more"].encode("latin-1") == "Zoë €".encode()


def test_uncaught_it_is_a_500_that_tells_the_log(bench: Bench) -> None:
    http(bench).answers[URL] = HttpResponse(404, {}, b"secret")
    reply = bench.ask(bench.client(f"steps:\n  - http: {{ url: {URL}?key=secret }}\n"))
    assert reply.status == 500
    (line,) = bench.host.log.lines  # type: ignore[attr-defined]
    assert line[1] == "'api.example.com' answered 404"
