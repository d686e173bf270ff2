"""Which function answers: routes, authentication, middleware in order."""

from __future__ import annotations

import pytest

from bbops.compiler.testing.client import Client
from bbops.compiler.testing.host import KeptLog
from tests.conftest import Serving, sample
from tests.support.raw_requests import NOW, Ask, raw_ask, routes, talk, token

pytestmark = pytest.mark.quick

SHOW_PARAMS = "steps:\n  - return:\n      value: ${ params }\n"
WHO = "steps:\n  - return:\n      value: ${ vars.auth }\n"


# ---- routes


def test_an_unknown_path_answers_404(ask: Ask) -> None:
    reply = ask(sample(), "GET", "/nowhere")
    assert (reply.status, reply.json["error"]["code"]) == (404, "notFound")


def test_another_method_answers_405_and_says_which_there_are(ask: Ask) -> None:
    reply = ask(routes("GET /x p None", "PUT /x p None", p=SHOW_PARAMS), "POST", "/x")
    assert (reply.status, reply.json["error"]["code"]) == (405, "methodNotAllowed")
    assert reply.headers["allow"] == "GET, HEAD, OPTIONS, PUT"


def test_head_answers_as_get_does_but_without_a_body(serving: Serving) -> None:
    async def tell(client: Client) -> None:
        get, head = await client.ask("GET", "/x"), await client.ask("HEAD", "/x")
        assert head.status == get.status == 200
        assert head.headers | {"x-request-id": ""} == get.headers | {"x-request-id": ""}
        assert (head.body, get.body) == (b"", b"{}")

    talk(serving, routes("GET /x p None", p=SHOW_PARAMS), tell)


def test_head_of_a_path_without_get_answers_405(ask: Ask) -> None:
    reply = ask(routes("POST /x p None", p=SHOW_PARAMS), "HEAD", "/x")
    assert (reply.status, reply.body) == (405, b"")


def test_options_lists_the_methods(ask: Ask) -> None:
    reply = ask(routes("DELETE /x p None", p=SHOW_PARAMS), "OPTIONS", "/x")
    assert (reply.status, reply.headers["allow"], reply.body) == (204, "DELETE, OPTIONS", b"")


def test_a_literal_segment_beats_a_parameter(serving: Serving) -> None:
    one = SHOW_PARAMS.replace("${ params }", "literal")

    async def tell(client: Client) -> None:
        assert (await client.ask("GET", "/x/new")).json == "literal"
        assert (await client.ask("GET", "/x/old")).json == {"id": "old"}

    talk(serving, routes("GET /x/:id p None", "GET /x/new one None", p=SHOW_PARAMS, one=one), tell)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/x/a%20b", "a b"),
        ("/x/a%2Fb", "a/b"),
        ("/x/%E6%97%A5", "日"),
        ("/x/%3Aid", ":id"),
        ("/x/%2e%2e", ".."),
        ("/x/100%25", "100%"),
        ("/x/a+b", "a+b"),
    ],
)
def test_a_parameter_is_decoded_once(path: str, found: str, ask: Ask) -> None:
    reply = ask(routes("GET /x/:id p None", p=SHOW_PARAMS), "GET", path)
    assert (reply.status, reply.json) == (200, {"id": found})


@pytest.mark.parametrize("path", ["/x/", "/x", "/x/a/b", "/x/%ff", "x/a", "", "*", "//x/a"])
def test_a_path_that_does_not_fit_answers_404(path: str, ask: Ask) -> None:
    assert ask(routes("GET /x/:id p None", p=SHOW_PARAMS), "GET", path).status == 404


# ---- authentication


def test_a_token_says_who_asks(ask: Ask) -> None:
    reply = ask(routes("GET /x who JWT", who=WHO), "GET", "/x", headers=token(email="a@b.c"))
    assert reply.json == {"userId": "u1", "email": "a@b.c", "role": "admin", "claims": {"team": 7}}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": ""},
        {"authorization": "Bearer"},
        {"authorization": "Bearer "},
        {"authorization": "Bearer garbage"},
        {"authorization": "Bearer a.b.c"},
        {"authorization": "Basic dTpw"},
        {"authorization": token()["authorization"].removeprefix("Bearer ")},
        {"authorization": token()["authorization"] + "x"},
        {"authorization": "Bearer " + "a" * 100_000},
        {"authorization": "Bearer \xff\xfe"},
        token(key="another-key-of-more-than-32-characters"),
        token(key="", algorithm=None),
        token(algorithm="HS512"),
        token(exp=NOW),
        token(exp="never"),
        token(nbf=NOW + 11),
        token(sub=5.5),
        token(exp=None),
    ],
    ids=lambda headers: headers.get("authorization", "none")[:40],
)
def test_without_a_valid_token_the_function_does_not_run(
    headers: dict[str, str], serving: Serving
) -> None:
    files = routes(
        "GET /x effect JWT", effect="steps:\n  - insert: { table: notes, data: { title: ran } }\n"
    )

    async def tell(client: Client) -> None:
        raw = {name: value.encode("latin-1").decode("latin-1") for name, value in headers.items()}
        status, sent, body = await raw_ask(client, "GET", "/x", headers=list(raw.items()))
        assert (status, body["error"]["code"]) == (401, "unauthorized")
        assert sent[b"www-authenticate"] == b"Bearer"
        assert await client.database.read("SELECT * FROM notes WHERE title = 'ran'") == []

    talk(serving, files, tell)


def test_the_log_names_the_claim_that_failed_and_the_answer_does_not(serving: Serving) -> None:
    async def tell(client: Client) -> None:
        reply = await client.ask("GET", "/x", headers=token(nbf=NOW + 60))
        assert (reply.status, b"nbf" in reply.body) == (401, False)
        log = client.release.answering.host.log
        assert isinstance(log, KeptLog)
        assert [line[:2] for line in log.lines] == [
            ("info", "token rejected: 'nbf' is more than 10 s ahead"),
        ]  # fmt: skip

    talk(serving, routes("GET /x who JWT", who=WHO), tell)


@pytest.mark.parametrize("claims", [{"iss": "other"}, {}, {"iss": "us", "aud": "other"}])
def test_a_token_of_another_issuer_or_audience_is_refused(claims: dict[str, str], ask: Ask) -> None:
    files = routes("GET /x who JWT", who=WHO)
    files["project.yaml"] += "  issuer: us\n  audience: app\n"
    assert ask(files, "GET", "/x", headers=token(**claims)).status == 401
    assert ask(files, "GET", "/x", headers=token(iss="us", aud="app")).status == 200


def test_the_scheme_of_a_token_may_be_written_in_any_case(ask: Ask) -> None:
    headers = {"authorization": token()["authorization"].replace("Bearer", "bEARER")}
    assert ask(routes("GET /x who JWT", who=WHO), "GET", "/x", headers=headers).status == 200


@pytest.mark.parametrize(
    ("word", "status"), [("Token", 200), ("JWT", 200), ("token", 200), ("Bearer", 401), ("", 401)]
)
def test_the_project_says_which_words_stand_before_a_token(
    word: str, status: int, ask: Ask
) -> None:
    files = routes("GET /run who JWT", who=WHO)
    files["project.yaml"] += "  schemes: [Token, JWT]\n"
    found = token()["authorization"].removeprefix("Bearer")
    reply = ask(files, "GET", "/run", headers={"authorization": word + found})
    assert reply.status == status
    if status == 401:
        assert reply.headers["www-authenticate"] == "Token, JWT"


def test_of_several_authorization_headers_the_first_counts(serving: Serving) -> None:
    good, bad = token()["authorization"], "Bearer bad"

    async def tell(client: Client) -> None:
        for values, status in (((good, bad), 200), ((bad, good), 401)):
            headers = [("authorization", value) for value in values]
            assert (await raw_ask(client, "GET", "/x", headers=headers))[0] == status

    talk(serving, routes("GET /x who JWT", who=WHO), tell)


def test_nobody_has_an_api_key_yet(ask: Ask) -> None:
    channel = "name: Api\nbasePath: /api\nauthentication: API Key\n"
    files = routes("GET /x p -", channel=channel, p=SHOW_PARAMS)
    for headers in ({}, token(), {"x-api-key": "k"}):
        assert ask(files, "GET", "/api/x", headers=headers).status == 401


def test_an_endpoint_takes_the_authentication_of_its_channel_or_its_own(serving: Serving) -> None:
    channel = "name: Api\nbasePath: /api\nauthentication: JWT\n"
    files = routes("GET /in p -", "GET /out p None", channel=channel, p=SHOW_PARAMS)

    async def tell(client: Client) -> None:
        assert (await client.ask("GET", "/api/in")).status == 401
        assert (await client.ask("GET", "/api/in", headers=token())).status == 200
        assert (await client.ask("GET", "/api/out")).status == 200

    talk(serving, files, tell)


def test_a_channel_whose_base_path_is_a_slash_doubles_none(ask: Ask) -> None:
    channel = "name: Api\nbasePath: /\nauthentication: None\n"
    assert ask(routes("GET /x p -", channel=channel, p=SHOW_PARAMS), "GET", "/x").status == 200


def test_the_root_of_a_channel_has_no_slash_at_its_end(ask: Ask) -> None:
    channel = "name: Api\nbasePath: /api/:team\nauthentication: None\n"
    reply = ask(routes("GET / p -", channel=channel, p=SHOW_PARAMS), "GET", "/api/red")
    assert reply.json == {"team": "red"}


# ---- middleware

CHANNEL = "name: Api\nbasePath: /api\nauthentication: None\nmiddleware: [first, second]\n"
FIRST = "steps:\n  - set: { trail: [first], query: mine }\n"
SECOND = """
steps:
  - set:
      trail: "${ vars.trail + ['second'] }"
      page: ${ query.page }
      id: ${ params.id }
  - if: query.stop == 'throw'
    then: [ { throw: { status: 403, message: stopped } } ]
  - if: query.stop == 'return'
    then: [ { return: { status: 202, value: early } } ]
  - if: query.stop == 'silent'
    then: [ { return: { status: 202 } } ]
"""
LAST = """
query: { page?: integer }
params: { id: integer }
steps:
  - return:
      value:
        trail: ${ vars.trail }
        theirs: "${ [vars.page, vars.id] }"
        mine: "${ [query.page, params.id] }"
        query: ${ vars.query }
"""
BEHIND = routes("GET /x/:id last -", channel=CHANNEL, first=FIRST, second=SECOND, last=LAST)


def test_middleware_runs_in_order_and_hands_on_what_it_sets(ask: Ask) -> None:
    reply = ask(BEHIND, "GET", "/api/x/5?page=2&page=3")
    assert reply.json["trail"] == ["first", "second"]
    assert reply.json["query"] == "mine"


def test_middleware_sees_texts_and_the_function_what_it_declares(ask: Ask) -> None:
    reply = ask(BEHIND, "GET", "/api/x/5?page=2&page=3")
    assert (reply.json["theirs"], reply.json["mine"]) == (["2", "5"], [2, 5])


def test_middleware_stops_a_request_by_throwing(ask: Ask) -> None:
    reply = ask(BEHIND, "GET", "/api/x/5?stop=throw")
    assert (reply.status, reply.json["error"]["message"]) == (403, "stopped")


def test_middleware_answers_by_returning_a_value(ask: Ask) -> None:
    reply = ask(BEHIND, "GET", "/api/x/5?stop=return")
    assert (reply.status, reply.json) == (202, "early")


def test_middleware_that_returns_no_value_lets_the_request_go_on(ask: Ask) -> None:
    assert ask(BEHIND, "GET", "/api/x/5?stop=silent").status == 200


def test_middleware_runs_before_the_shapes(ask: Ask) -> None:
    assert ask(BEHIND, "GET", "/api/x/none?page=x&stop=throw").status == 403
    assert ask(BEHIND, "GET", "/api/x/none?page=x").status == 400


def test_middleware_does_not_run_for_a_bad_token(serving: Serving) -> None:
    channel = "name: Api\nbasePath: /api\nauthentication: JWT\nmiddleware: [first]\n"
    first = "steps:\n  - delete: { table: notes, where: true }\n"

    async def tell(client: Client) -> None:
        assert (await client.ask("GET", "/api/x")).status == 401
        assert len(await client.database.read("SELECT * FROM notes")) == 3

    talk(serving, routes("GET /x p -", channel=channel, first=first, p=SHOW_PARAMS), tell)
