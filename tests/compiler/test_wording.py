"""What the server answers by itself, in the words of a project: `errors` of project.yaml."""

from __future__ import annotations

from typing import Any

import pytest

from bbops.compiler.check import validate
from bbops.source.tree import MemoryTree
from tests.conftest import PROJECT, Files, Serving, with_function
from tests.support.raw_requests import Ask, routes, talk

ERRORS = """
errors:
  unauthorized: { status: 403, value: { problem: '${ error.message }', code: '${ error.code }' } }
  notFound: { value: { problem: nothing here, status: '${ error.status }' } }
  invalidInput: { status: 422, value: { problem: look again, wrong: '${ error.fields }' } }
  conflict: { value: { wrong: '${ error.fields }' } }
  rateLimited: { value: 'slow down: ${ error.message }' }
  serverError: { value: { problem: our fault, say: '${ error.message }' } }
  default: { value: { other: '${ error.code }', at: '${ now() }' } }
  messages:
    required: Bitte ausfüllen
    minLength: mindestens ${ error.limit } Zeichen
    maximum: höchstens ${ error.limit }
    type: '${ error.message }!'
    enum: one of ${ error.limit | join('/') }
    unique: schon vergeben
"""
CHANNEL = "name: A\nbasePath: /api\nauthentication: None\nrateLimit: 1\n"
FAIL = """
steps:
  - loop: { while: params.id == '0', max: 1, steps: [log: { message: a }] }
"""
SHAPED = """
input:
  name: { type: string, minLength: 3 }
  age: { type: integer, maximum: 9 }
  kind?: { type: string, enum: [a, b] }
  tags?: 'string[]'
steps:
  - return: { value: 1 }
"""
CHECKED = """
input: { value?: json }
steps:
  - validate:
      value: { age: 12 }
      shape: { age: { type: integer, maximum: 10 }, name: string }
  - return: { value: 1 }
"""


def worded(files: Files, errors: str = ERRORS) -> Files:
    return files | {"project.yaml": PROJECT + errors}


@pytest.mark.parametrize(
    ("method", "path", "status", "body"),
    [
        ("GET", "/me", 403, {"problem": "a valid token is needed", "code": "unauthorized"}),
        ("GET", "/nowhere", 404, {"problem": "nothing here", "status": 404}),
        ("GET", "/x/0", 500, {"problem": "our fault", "say": "internal server error"}),
        ("GET", "/thrown", 404, {"problem": "nothing here", "status": 404}),
    ],
)
def test_a_project_says_what_the_server_answers(
    ask: Ask, method: str, path: str, status: int, body: Any
) -> None:
    throw = "steps:\n  - throw: { status: 404, message: gone }\n"
    files = routes("GET /me g JWT", "GET /x/:id f None", "GET /thrown g None", f=FAIL, g=throw)
    reply = ask(worded(files), method, path)
    assert (reply.status, reply.json) == (status, body)


def test_default_stands_for_all_that_has_no_entry(ask: Ask) -> None:
    reply = ask(worded(with_function(SHAPED)), "GET", "/run")
    assert reply.status == 405
    assert reply.headers["allow"] == "OPTIONS, POST"
    assert reply.json == {"other": "methodNotAllowed", "at": "2026-01-02T03:04:05Z"}


def test_headers_of_the_protocol_stay(ask: Ask) -> None:
    reply = ask(worded(routes("GET /me f JWT", f="steps: [log: { message: a }]\n")), "GET", "/me")
    assert reply.headers["www-authenticate"] == "Bearer"
    reply = ask(worded(routes("GET /x/:id f None", f=FAIL)), "GET", "/x/0")
    assert reply.headers["x-request-id"]


def test_what_a_function_throws_by_value_is_its_own(ask: Ask) -> None:
    throw = "steps:\n  - throw: { status: 404, value: { mine: true } }\n"
    assert ask(worded(with_function(throw)), "POST", "/run").json == {"mine": True}


def test_rules_speak_as_the_project_does(ask: Ask) -> None:
    given = {"name": "ab", "age": 99, "kind": "c", "tags": "x"}
    reply = ask(worded(with_function(SHAPED)), "POST", "/run", given)
    assert (reply.status, reply.json["problem"]) == (422, "look again")
    assert reply.json["wrong"] == {
        "name": ["mindestens 3 Zeichen"],
        "age": ["höchstens 9"],
        "kind": ["one of a/b"],
        "tags": ["must be a list!"],
    }
    reply = ask(worded(with_function(SHAPED)), "POST", "/run", {"age": "x"})
    assert reply.json["wrong"] == {
        "name": ["Bitte ausfüllen"],
        "age": ["must be a whole number!"],
    }


def test_the_step_validate_speaks_so_too(ask: Ask) -> None:
    reply = ask(worded(with_function(CHECKED)), "POST", "/run", {})
    assert reply.json["wrong"] == {"name": ["Bitte ausfüllen"], "age": ["höchstens 10"]}


def test_a_row_that_is_there_already_says_so(ask: Ask) -> None:
    insert = "steps:\n  - insert: { table: notes, data: { id: 1, title: a } }\n"
    reply = ask(worded(with_function(insert)), "POST", "/run")
    assert (reply.status, reply.json) == (409, {"wrong": {"id": ["schon vergeben"]}})


def test_a_status_alone_keeps_the_body(ask: Ask) -> None:
    reply = ask(worded(routes(), "errors: { default: { status: 418 } }\n"), "GET", "/nowhere")
    assert (reply.status, reply.json["error"]["code"]) == (418, "notFound")


def test_words_that_cannot_be_computed_give_way_to_the_usual_ones(ask: Ask) -> None:
    errors = "errors: { notFound: { value: '${ 1 / (error.status - 404) }' } }\n"
    reply = ask(worded(routes(), errors), "GET", "/nowhere")
    assert (reply.status, reply.json["error"]["code"]) == (404, "notFound")


def test_words_know_nothing_of_a_failure_that_nobody_meant(ask: Ask) -> None:
    """Not even where the server itself would show it, as `bbops dev` does."""
    errors = "errors: { default: { value: { all: '${ error }' } } }\n"
    files = worded(routes("GET /x/:id f None", f=FAIL), errors)
    reply = ask(files, "GET", "/x/0")
    assert set(reply.json["all"]) == {"code", "message", "fields", "status"}
    assert "two numbers" not in str(reply.json)


def test_a_channel_beyond_its_limit_says_so(serving: Serving) -> None:
    async def twice(client: Any) -> Any:
        await client.ask("GET", "/api/x/1")
        return await client.ask("GET", "/api/x/1")

    files = worded(routes("GET /x/:id f None", f=FAIL, channel=CHANNEL))
    reply = talk(serving, files, twice)
    assert (reply.status, reply.json[:14]) == (429, "slow down: try")
    assert int(reply.headers["retry-after"]) > 0


def test_a_message_that_is_no_text_is_found_before_it_runs() -> None:
    errors = "errors: { messages: { required: { a: 1 } } }\n"
    _, diagnostics = validate(MemoryTree(worded(with_function(SHAPED), errors)))
    assert [(one.code, one.message) for one in diagnostics if one.code == "type"] == [
        ("type", "a message must be text, got map")
    ]
