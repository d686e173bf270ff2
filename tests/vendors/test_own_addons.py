"""Any API as an addon: its steps ask what their files say, and give what these declare."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bbops.compiler.testing.client import Reply
from tests.vendors.asking import Asked
from tests.vendors.stand_in import Answer, Request, StandIn

KEY = "k-" + "s3cret" * 6
FORM = "application/x-www-form-urlencoded"
REFUND = """
title: Create a refund
request: { method: POST, path: /v1/refunds, encoding: form, idempotencyKey: Idempotency-Key }
parameters:
  charge?: string
  amount?: integer
  reason?: { type: string, enum: [duplicate, fraudulent] }
  metadata?: json
  expand?: string[]
gives: { id: string, status: string?, amount: integer }
"""


def ask(
    box: Path, stand_in: StandIn, step: str, call: str, *, auth: str = "{ bearer: token }",
    more: str = "", config: str = "token: ${ env.TOKEN }", of: str = "server",
) -> Reply:  # fmt: skip
    """Ask an addon `billing` by one call of its step `it`, inside of `try`."""
    function = (
        f"steps:\n  - try:\n      - billing.it: {call}\n        as: found\n"
        "      - return: { value: '${ vars.found }' }\n    catch:\n      - return:\n"
        "          value: ['${ error.code }', '${ error.status }', '${ error.reason }',"
        " '${ error.message }']\n"
    )
    settings = (
        f"{of}: {stand_in.url}\nauth: {auth}\n{more}config:\n  {config}\n"
        if auth
        else f"{of}: {stand_in.url}\n{more}"
    )
    asked = Asked(
        box, "billing", settings, function, env={"TOKEN": KEY, "OTHER": KEY[::-1]},
        beside={"addons/billing/it.yaml": step},
    )  # fmt: skip
    reply = asked.ask()
    assert KEY not in asked.log + str(reply.body)
    return reply


def sent(box: Path, step: str, call: str, *answers: Answer, **more: Any) -> tuple[Request, Any]:
    """Return what one call of a step asked, and what it gave."""
    with StandIn(*answers) as stand_in:
        reply = ask(box, stand_in, step, call, **more)
        assert reply.status == 200, reply.body
        return stand_in.asked[-1], reply.json


def test_a_form_with_a_key_and_a_token_is_sent_and_its_answer_is_cut_to_what_it_gives(
    tmp_path: Path,
) -> None:
    answer = Answer(body={"id": "re_1", "status": None, "amount": 500, "object": "refund"})
    call = "{ charge: ch_1, amount: 500, metadata: { order: 7 }, expand: [a, b] }"
    request, found = sent(tmp_path, REFUND, call, answer)
    assert (request.method, request.path, request.type) == ("POST", "/v1/refunds", FORM)
    assert request.body == [
        ("amount", "500"), ("charge", "ch_1"), ("expand", "a"), ("expand", "b"),
        ("metadata[order]", "7"),
    ]  # fmt: skip
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert len(request.headers["idempotency-key"]) == 36
    assert found == {"id": "re_1", "status": None, "amount": 500}


@pytest.mark.parametrize(
    ("lists", "body"),
    [
        ("index", [("expand[0]", "a"), ("expand[1]", "b")]),
        ("comma", [("expand", "a,b")]),
        ("repeat", [("expand", "a"), ("expand", "b")]),
    ],
)
def test_lists_are_sent_as_the_file_says(tmp_path: Path, lists: str, body: Any) -> None:
    step = REFUND.replace("encoding: form", f"encoding: form, lists: {lists}")
    answer = Answer(body={"id": "a", "amount": 1})
    assert sent(tmp_path, step, "{ expand: [a, b] }", answer)[0].body == body


def test_parameters_go_into_path_query_header_and_body_or_come_from_settings(
    tmp_path: Path,
) -> None:
    step = """
request: { method: POST, path: "/a/{account}/{id}" }
parameters: { id: string, page?: integer, trace?: string, at?: datetime, note: string }
in:
  account: { setting: account }
  page: { query: "page[size]" }
  trace: { header: X-Trace }
  note: { body: text }
"""
    request, found = sent(
        tmp_path, step, "{ id: a/b, page: 3, trace: t, at: '2026-01-02T03:04:05Z', note: hi }",
        Answer(body=[1]), config="token: ${ env.TOKEN }\n  account: main one",
    )  # fmt: skip
    assert request.path == "/a/main%20one/a%2Fb"
    assert request.query == [("page[size]", "3")]
    assert request.headers["x-trace"] == "t"
    assert request.body == {"at": "2026-01-02T03:04:05Z", "text": "hi"}
    assert found == [1]


def test_null_is_sent_where_the_type_allows_it_and_is_left_out_elsewhere(tmp_path: Path) -> None:
    step = """
request: { method: PATCH, path: /x }
parameters: { a?: string, b?: string?, c: string?, d?: string }
"""
    function = "{ a: null, b: null, c: null }"
    assert sent(tmp_path, step, function, Answer(body={}))[0].body == {"b": None, "c": None}


WAYS = {
    "{ basic: [token, other] }": ("authorization", "Basic "),
    "{ header: { X-Api-Key: token } }": ("x-api-key", KEY),
}
GET = "request: { method: GET, path: /x }\nparameters: { q?: string }\n"
BOTH = "token: ${ env.TOKEN }\n  other: ${ env.OTHER }"


@pytest.mark.parametrize("way", WAYS)
def test_a_header_tells_who_asks(tmp_path: Path, way: str) -> None:
    config = BOTH if "other" in way else "token: ${ env.TOKEN }"
    request, _ = sent(tmp_path, GET, "{ q: a b }", auth=way, config=config)
    name, value = WAYS[way]
    assert request.headers[name].startswith(value)
    assert request.query == [("q", "a b")]


def test_a_part_of_the_address_tells_who_asks(tmp_path: Path) -> None:
    request, _ = sent(tmp_path, GET, "{}", auth="{ query: { key: token } }")
    assert request.query == [("key", KEY)]


def test_an_api_that_asks_for_nothing_is_told_nothing(tmp_path: Path) -> None:
    request, _ = sent(tmp_path, GET, "{}", auth="")
    assert "authorization" not in request.headers


def credentials(url: str) -> str:
    """Return the way of tokens that are fetched."""
    return (
        f"{{ clientCredentials: {{ tokenUrl: {url}/token, clientId: token, clientSecret: other,"
        " scopes: [a, b] } }"
    )


def test_a_token_is_fetched_by_client_credentials(tmp_path: Path) -> None:
    answers = Answer(body={"access_token": "t-1", "expires_in": 3600}), Answer(body={"ok": True})
    with StandIn(*answers) as stand_in:
        way = credentials(stand_in.url)
        reply = ask(tmp_path, stand_in, GET, "{}", auth=way, config=BOTH)
        token, request = stand_in.asked
    assert reply.json == {"ok": True}
    assert (token.path, token.body) == (
        "/token", [("grant_type", "client_credentials"), ("scope", "a b")],
    )  # fmt: skip
    assert request.headers["authorization"] == "Bearer t-1"


def test_a_token_that_cannot_be_fetched_fails_the_step_without_a_secret(tmp_path: Path) -> None:
    refusal = {"error": "invalid_client", "error_description": "unknown client"}
    with StandIn(Answer(401, refusal)) as stand_in:
        way = credentials(stand_in.url)
        found = ask(tmp_path, stand_in, GET, "{}", auth=way, config=BOTH).json
    assert found == [
        "httpFailed",
        401,
        "invalid_client",
        "'127.0.0.1' answered 401: unknown client",
    ]


@pytest.mark.parametrize(
    ("body", "reason", "words"),
    [
        ({"error": {"message": "No such charge", "code": "missing"}}, "missing", "No such charge"),
        ({"message": "Not Found", "status": "404"}, "404", "Not Found"),
        ({"errors": [{"message": "bad", "code": 7}]}, "7", "bad"),
        ({"error": "denied", "error_description": "not you"}, "denied", "not you"),
        ({"detail": "no"}, None, "no"),
    ],
)
def test_an_error_fails_the_step_in_the_apis_words(
    tmp_path: Path, body: Any, reason: str | None, words: str
) -> None:
    with StandIn(Answer(404, body)) as stand_in:
        found = ask(tmp_path, stand_in, GET, "{}").json
    assert found == ["httpFailed", 404, reason, f"'127.0.0.1' answered 404: {words}"]


def test_an_answer_that_is_not_what_the_file_gives_fails_with_its_path(tmp_path: Path) -> None:
    step = GET + "gives: { id: string, lines: { type: list, items: { type: object,"
    step += " fields: { amount: integer } } } }\n"
    with StandIn(Answer(body={"id": "a", "lines": [{"amount": 1}, {"amount": "x"}]})) as stand_in:
        found = ask(tmp_path, stand_in, step, "{}").json
    assert found[0] == "addon-answer"
    assert "result.lines.1.amount" in found[3]


def test_a_value_of_another_type_is_not_sent(tmp_path: Path) -> None:
    with StandIn() as stand_in:
        found = ask(tmp_path, stand_in, REFUND, "{ metadata: {}, reason: '${ uuid() }' }").json
        assert found[3].startswith("'reason' of 'billing.it' must be one of")
        assert stand_in.asked == []


@pytest.mark.parametrize("value", ["..", ".", ""])
def test_a_value_cannot_leave_its_part_of_the_path(tmp_path: Path, value: str) -> None:
    step = "request: { method: GET, path: '/a/{id}' }\nparameters: { id: string }\n"
    with StandIn() as stand_in:
        found = ask(tmp_path, stand_in, step, f"{{ id: '{value}' }}").json
        assert found[3].startswith("'id' must have 1 to 200 characters")
        assert stand_in.asked == []


QUERY = """
request:
  path: /graphql
  graphql: |
    query One($id: ID!) { item(id: $id) { name } }
parameters: { id: string }
gives: { item: { type: object, fields: { name: string } } }
"""


def test_a_query_of_graphql_sends_its_variables_and_gives_its_data(tmp_path: Path) -> None:
    answer = Answer(body={"data": {"item": {"name": "x", "more": 1}}})
    request, found = sent(tmp_path, QUERY, "{ id: a }", answer)
    assert request.path == "/graphql"
    assert request.body["variables"] == {"id": "a"}
    assert request.body["query"].startswith("query One")
    assert found == {"item": {"name": "x"}}


def test_errors_of_graphql_in_a_200_fail_the_step(tmp_path: Path) -> None:
    error = {"message": "no such item", "extensions": {"code": "NOT_FOUND"}}
    with StandIn(Answer(body={"data": None, "errors": [error]})) as stand_in:
        found = ask(tmp_path, stand_in, QUERY, "{ id: a }").json
    assert found == ["httpFailed", 400, "NOT_FOUND", "'127.0.0.1' answered 400: no such item"]


RETRY = "steps:\n  - billing.it: {{}}\n    retry: {{ attempts: 3, backoff: 1ms }}\n"


@pytest.mark.parametrize(
    ("request_", "count"),
    [
        ("{ method: GET, path: /x }", 3),
        ("{ method: POST, path: /x }", 1),
        ("{ method: POST, path: /x, repeat: safe }", 3),
        ("{ method: POST, path: /x, idempotencyKey: Idempotency-Key }", 3),
        ("{ method: DELETE, path: /x }", 3),
        ("{ graphql: 'query { a }', path: /g }", 3),
        ("{ graphql: 'mutation { a }', path: /g }", 1),
    ],
)
def test_only_what_may_be_done_twice_is_asked_again(
    tmp_path: Path, request_: str, count: int
) -> None:
    with StandIn(Answer(500, {})) as stand_in:
        asked = Asked(
            tmp_path, "billing", f"server: {stand_in.url}\n", RETRY.format(), env={},
            beside={"addons/billing/it.yaml": f"request: {request_}\n"},
        )  # fmt: skip
        assert asked.ask().status == 500
        assert len(stand_in.asked) == count
        keys = {one.headers.get("idempotency-key") for one in stand_in.asked}
    assert len(keys) == 1


def test_the_setting_endpoint_takes_the_place_of_the_server(tmp_path: Path) -> None:
    with StandIn(Answer(body={"ok": 1})) as stand_in:
        more = f"config: {{ endpoint: '{stand_in.url}' }}\n"
        asked = Asked(
            tmp_path, "billing", "server: https://api.example.com\n" + more,
            "steps:\n  - billing.it: {}\n    as: it\n  - return: { value: '${ vars.it }' }\n",
            env={}, beside={"addons/billing/it.yaml": GET},
        )  # fmt: skip
        assert asked.ask().json == {"ok": 1}


def test_a_secret_of_the_address_is_in_no_message(tmp_path: Path) -> None:
    with StandIn(Answer(breaks="reset")) as stand_in:
        found = ask(tmp_path, stand_in, GET, "{}", auth="{ query: { key: token } }").json
    assert found[0] == "httpUnreachable"
    assert KEY not in str(found)


def test_a_redirect_takes_no_key_to_another_host(tmp_path: Path) -> None:
    with StandIn(Answer(body={})) as other:
        moved = Answer(307, {}, {"location": f"{other.url.replace('127.0.0.1', 'localhost')}/x"})
        with StandIn(moved) as stand_in:
            auth = "{ header: { X-Api-Key: token } }"
            found = ask(tmp_path, stand_in, GET, "{}", auth=auth).json
        assert other.asked == []
    assert found[:2] == ["httpFailed", 307]


MUTATION = "fragment F on Item { id } mutation { add { ...F } }"


def test_a_mutation_behind_a_fragment_is_not_repeated(tmp_path: Path) -> None:
    with StandIn(Answer(500, {})) as stand_in:
        asked = Asked(
            tmp_path, "billing", f"server: {stand_in.url}\n", RETRY.format(), env={},
            beside={"addons/billing/it.yaml": f"request: {{ graphql: '{MUTATION}', path: /g }}\n"},
        )  # fmt: skip
        asked.ask()
        assert len(stand_in.asked) == 1
