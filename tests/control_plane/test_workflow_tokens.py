"""Tokens for workflows in exchange for identity tokens, and attacks on them."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import jwt
import pytest
from jwt.warnings import InsecureKeyLengthWarning
from litestar import Request
from litestar.routes import HTTPRoute

from bbops_server.accounts.book import Book
from bbops_server.accounts.ci_tokens import WorkflowRun
from bbops_server.accounts.limits import Limit
from bbops_server.accounts.rules import CI_PERMISSIONS, Permission
from bbops_server.control_plane.external_sign_in import provider_http
from bbops_server.control_plane.external_sign_in.issuers import FAILURE_SECONDS
from bbops_server.control_plane.web.routes import HAS_OWN_AUTH, PERMISSION
from bbops_server.control_plane.web.visit import Visit
from bbops_server.settings.repositories import CiTrust
from tests.support.accounts import Clock, book, clock
from tests.support.ci_exchange import Exchange, message, public_pem, sign_by_hand
from tests.support.ci_issuer import FILE, MAIN, SHA, CiIssuer, issuer
from tests.support.control import URL, Tried, tried
from tests.support.patience import wait_for
from tests.support.signing_keys import other_rsa_key, weak_rsa_key

__all__ = ["book", "clock", "issuer", "tried"]
GENERIC = "the identity token is not valid here"
Attack = Callable[[CiIssuer, dict[str, Any]], str]


@pytest.fixture
def exchange(tried: Tried, issuer: CiIssuer) -> Exchange:
    return Exchange(tried, issuer)


# ---- a token and its end
def test_push_to_main_gets_a_token_of_its_project(exchange: Exchange) -> None:
    answer = exchange.ask()
    assert (answer.status_code, answer.json()["project"]) == (200, "small")
    assert answer.json()["token"].startswith("bbw_")
    headers = {"authorization": f"Bearer {answer.json()['token']}"}
    browser = exchange.control.browser()
    assert browser.call("GET", "/api/projects/small/status", headers=headers).status_code == 200
    assert browser.call("GET", "/api/projects/small/drafts", headers=headers).status_code == 200
    path = "/api/projects/small/reconcile"
    assert browser.call("POST", path, headers=headers).status_code == 202
    run = f"run 1658821493 by octocat at {SHA[:12]} of {MAIN}"
    (issued, _), reconciled = exchange.audit()
    assert issued.startswith(f"small {run} as ")
    assert reconciled == (f"small {run}", "done")
    entry = exchange.control.book.audit.list()[0]
    assert (entry.who, entry.token) == ("octo-org/octo-repo (CI)", issued.rpartition(" ")[2])


def test_branch_pipeline_of_gitlab_gets_a_token(exchange: Exchange) -> None:
    workflow = f"my-group/my-project/.gitlab-ci.yml@{MAIN}"
    for path in (workflow, ".gitlab-ci.yml"):
        exchange.trust(exchange.of("small", kind="gitlab", workflow=path))
        assert exchange.ask(exchange.issuer.sign(exchange.issuer.gitlab(URL))).status_code == 200
    for changes in (
        {"ref_type": "tag"}, {"ref": "main2"}, {"project_id": "9"}, {"namespace_id": "9"},
        {"ci_config_ref_uri": f"gitlab.example.com/evil/x//.gitlab-ci.yml@{MAIN}"},
        {"ref_type": "pull"}, {"ref": "refs/heads/main"}, {"sha": "main"},
    ):  # fmt: skip
        token = exchange.issuer.sign(exchange.issuer.gitlab(URL, **changes))
        assert exchange.ask(token).status_code == 403, changes


def test_merge_request_of_gitlab_is_not_a_branch(exchange: Exchange) -> None:
    claims = exchange.issuer.gitlab(URL, pipeline_source="merge_request_event")  # of a fork's main
    exchange.trust(exchange.of("small", kind="gitlab"))
    refused = exchange.ask(exchange.issuer.sign(claims))
    assert (refused.status_code, "'refs/merge-requests/main'" in message(refused)) == (403, True)
    exchange.trust(exchange.of("small", kind="gitlab", ref="refs/merge-requests/*"))
    assert exchange.ask(exchange.issuer.sign(claims)).status_code == 200
    push = exchange.issuer.sign(exchange.issuer.gitlab(URL))
    assert exchange.ask(push).status_code == 403


def test_elliptic_curve_keys_and_rotated_keys_are_accepted(exchange: Exchange) -> None:
    issuer = exchange.issuer
    assert exchange.ask(issuer.sign(issuer.github(URL), "e1")).status_code == 200
    issuer.rotate()
    keys = exchange.control.control.issuers.find(issuer.url, {issuer.url})
    assert keys is not None
    token = issuer.sign(issuer.github(URL), "k2")
    assert exchange.ask(token).status_code == 401
    keys._keys = (keys._keys[0] - 61, keys._keys[1])
    assert exchange.ask(token).status_code == 200
    assert issuer.fetches == 2


def test_token_ends_with_its_trust_and_its_project(exchange: Exchange) -> None:
    headers = exchange.issue()
    assert exchange.status(headers) == 200
    exchange.trust(exchange.of("small", environment="production"))
    assert exchange.status(headers) == 401
    exchange.trust(exchange.of("other"))
    assert exchange.status(headers) == 401
    exchange.trust(exchange.of("small"))
    assert exchange.status(headers) == 200


def test_token_is_for_one_project(exchange: Exchange) -> None:
    exchange.trust(exchange.of("small"), exchange.of("other"))
    refused = exchange.ask()
    assert refused.status_code == 403
    assert "several projects trust this workflow: name one of other, small" in message(refused)
    answer = exchange.ask(project="other")
    assert answer.json()["project"] == "other"
    assert exchange.status({"authorization": f"Bearer {answer.json()['token']}"}) == 404


def test_token_is_stored_as_a_hash(exchange: Exchange) -> None:
    token = exchange.ask().json()["token"]
    state = exchange.control.settings.state
    stored = b"".join(path.read_bytes() for path in state.glob("control.sqlite*"))
    assert token.encode() not in stored
    assert b"example-id" not in stored


TRUST = CiTrust("small", "github", "https://ci.example.com", "1", "2", MAIN)


def issue(book: Book, clock: Clock, assertion: str) -> Any:
    run = WorkflowRun("a/b", MAIN, SHA, "1", "ada")
    until = clock.now() + timedelta(minutes=5)
    return book.ci_tokens.issue(TRUST, run, assertion=assertion, until=until)


def test_token_ends_after_ten_minutes(book: Book, clock: Clock) -> None:
    issued = issue(book, clock, "jti 1")
    clock.wait(timedelta(minutes=9, seconds=59))
    caller = book.ci_tokens.find(issued.key, [TRUST])
    assert caller is not None
    assert (caller.how, caller.project, caller.person, caller.role) == ("ci", "small", "", None)
    assert book.ci_tokens.find(issued.key, []) is None
    clock.wait(timedelta(seconds=1))
    assert book.ci_tokens.find(issued.key, [TRUST]) is None


def test_servers_that_share_a_database_accept_an_identity_token_once(
    book: Book, clock: Clock
) -> None:
    assert issue(book, clock, "jti 1") is not None
    assert issue(book, clock, "jti 1") is None
    assert issue(book, clock, "jti 2") is not None
    clock.wait(timedelta(minutes=6))
    assert issue(book, clock, "jti 1") is not None  # its identity token has expired by now


def test_simultaneous_issues_of_an_identity_token_give_a_single_token(
    book: Book, clock: Clock
) -> None:
    with ThreadPoolExecutor(8) as threads:
        issued = list(threads.map(lambda _: issue(book, clock, "jti 1"), range(8)))
    assert sum(token is not None for token in issued) == 1


def test_token_locates_a_commit_and_builds_a_draft(exchange: Exchange) -> None:
    headers, browser = exchange.issue(), exchange.control.browser()
    path = "/api/projects/small/status"
    found = browser.call("GET", path, params={"commit": "a" * 40}, headers=headers).json()
    assert found["commit"] == {
        "commit": "a" * 40, "is_live": True, "is_in_live": True, "is_in_attempted": True,
    }  # fmt: skip
    for commit in ("main", "a" * 39, "../" * 14, "--" * 20):
        answer = browser.call("GET", path, params={"commit": commit}, headers=headers)
        assert answer.status_code == 400, commit
    path = "/api/projects/small/reconcile?draft=topic"
    assert browser.call("POST", path, headers=headers).status_code == 202
    assert exchange.control.source.asked == ["draft topic"], "nothing is published"
    assert exchange.audit()[-1][0].startswith("small draft topic run 1658821493 by octocat at ")
    browser.call("POST", f"{path}%0Asmall", headers=headers)
    assert exchange.audit()[-1][0].startswith("small draft topic\\nsmall run 1658821493 by octocat")


# ---- the closed list
@pytest.mark.long
def test_every_other_route_refuses_the_token(exchange: Exchange) -> None:
    headers = exchange.issue() | {"accept": "application/json"}
    browser, admitted = exchange.control.browser(), set[str]()
    for route in exchange.control.app.routes:
        if not isinstance(route, HTTPRoute):
            continue
        for handler in route.route_handlers:
            if HAS_OWN_AUTH in handler.opt:
                continue
            for method in sorted(handler.http_methods - {"OPTIONS"}):
                path = route.path.replace("{name:str}", "small").replace("{number:int}", "1")
                path = path.replace(":str}", "").replace("{", "")
                body: dict[str, Any] = {"json": {}} if method == "POST" else {}
                status = browser.call(method, path, headers=headers, **body).status_code
                if handler.opt.get(PERMISSION) in CI_PERMISSIONS:
                    admitted.add(f"{method} {route.path}")
                    assert status in {200, 202}, path
                else:
                    assert status in {401, 403, 404}, (path, status)
    assert admitted == {
        "POST /api/projects/{name:str}/reconcile", "GET /api/projects/{name:str}/status",
        "GET /api/projects/{name:str}/drafts",
    }  # fmt: skip
    assert {
        Permission.RECONCILE, Permission.READ_STATUS, Permission.READ_DRAFTS,
    } == CI_PERMISSIONS  # fmt: skip


def test_git_and_agents_refuse_the_token(exchange: Exchange) -> None:
    headers, browser = exchange.issue(), exchange.control.browser()
    accepted = {"accept": "application/json, text/event-stream"}
    key = headers["authorization"].partition(" ")[2]
    for method, path in (
        ("GET", "/git/small/info/refs?service=git-upload-pack"), ("POST", "/mcp"),
        ("POST", "/mcp/p/small"), ("POST", "/oauth/token"), ("POST", "/oauth/revoke"),
    ):  # fmt: skip
        for given in (headers, {"authorization": _basic(key)}):
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"} if method == "POST" else None
            answer = browser.call(method, path, json=body, headers=given | accepted)
            assert answer.status_code in {400, 401, 403, 404}, (path, answer.text)


def test_token_does_not_become_a_session(exchange: Exchange) -> None:
    headers = exchange.issue()
    key = headers["authorization"].partition(" ")[2]
    browser = exchange.control.browser()
    browser.cookies.set("bbops", key)
    assert browser.call("GET", "/api/projects/small/status").status_code == 401
    basic = browser.call(
        "GET", "/api/projects/small/status", headers={"authorization": _basic(key)}
    )
    assert basic.status_code == 401


def _basic(key: str) -> str:
    return f"Basic {base64.b64encode(f'ci:{key}'.encode()).decode()}"


# ---- attacks: tokens that the issuer did not sign
def unsigned(issuer: CiIssuer, claims: dict[str, Any]) -> str:
    return sign_by_hand(claims, {"alg": "none", "kid": "k1"}, None)


def unsigned_in_capitals(issuer: CiIssuer, claims: dict[str, Any]) -> str:
    return sign_by_hand(claims, {"alg": "NoNe", "kid": "k1"}, None)


def signed_with_the_public_key(issuer: CiIssuer, claims: dict[str, Any]) -> str:
    return sign_by_hand(claims, {"alg": "HS256", "kid": "k1"}, public_pem())


def signed_with_the_published_document(issuer: CiIssuer, claims: dict[str, Any]) -> str:
    return sign_by_hand(claims, {"alg": "HS256", "kid": "k1"}, issuer.jwks())


def signed_with_another_key(issuer: CiIssuer, claims: dict[str, Any]) -> str:
    return jwt.encode(claims, other_rsa_key(), "RS256", headers={"kid": "k1"})


def signed_with_an_unknown_key_id(issuer: CiIssuer, claims: dict[str, Any]) -> str:
    return jwt.encode(claims, issuer.keys["k1"], "RS256", headers={"kid": "other"})


def signed_without_a_key_id(issuer: CiIssuer, claims: dict[str, Any]) -> str:
    return jwt.encode(claims, issuer.keys["k1"], "RS256")


def signed_for_another_algorithm(issuer: CiIssuer, claims: dict[str, Any]) -> str:
    return jwt.encode(claims, issuer.keys["k1"], "RS512", headers={"kid": "k1"})


def signed_with_a_key_of_its_own_header(issuer: CiIssuer, claims: dict[str, Any]) -> str:
    own = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(other_rsa_key().public_key()))
    headers = {"kid": "k1", "jwk": own, "jku": "http://127.0.0.1:1/jwks"}
    return jwt.encode(claims, other_rsa_key(), "RS256", headers=headers)


def changed_after_it_was_signed(issuer: CiIssuer, claims: dict[str, Any]) -> str:
    header, _, signature = issuer.sign(claims).split(".")
    other = issuer.sign(claims | {"ref": "refs/heads/evil"}).split(".")[1]
    return f"{header}.{other}.{signature}"


FORGERIES: tuple[Attack, ...] = (
    unsigned, unsigned_in_capitals, signed_with_the_public_key, signed_with_the_published_document,
    signed_with_another_key, signed_with_an_unknown_key_id, signed_without_a_key_id,
    signed_for_another_algorithm, signed_with_a_key_of_its_own_header,
    changed_after_it_was_signed,
)  # fmt: skip


@pytest.mark.parametrize("attack", FORGERIES, ids=lambda attack: attack.__name__)
def test_forged_tokens_get_one_generic_answer(
    exchange: Exchange, attack: Attack, caplog: pytest.LogCaptureFixture
) -> None:
    token = attack(exchange.issuer, exchange.issuer.github(URL))
    answer = exchange.ask(token)
    assert (answer.status_code, message(answer)) == (401, GENERIC)
    (_, outcome) = exchange.audit()[-1]
    assert outcome == "refused"
    assert token.split(".")[1] not in caplog.text
    assert "no token for a workflow from" in caplog.text


@pytest.mark.parametrize("token", [
    "", "x", "a.b.c", "..", "é.é.é", "eyJhbGciOiJSUzI1NiJ9.W10.x", "\ud800",
    sign_by_hand({}, {"alg": "RS256"}, b"x"), sign_by_hand({"iss": ["x"]}, {"alg": "RS256"}, b"x"),
    sign_by_hand({"iss": URL}, {"alg": {}, "kid": []}, b"x"),
])  # fmt: skip
def test_malformed_tokens_get_the_same_answer(exchange: Exchange, token: str) -> None:
    body = json.dumps({"token": token}).encode()
    answer = exchange.control.browser().call(
        "POST", "/api/ci/token", content=body, headers={"content-type": "application/json"}
    )
    assert answer.status_code in {400, 401}, answer.text
    assert exchange.issuer.requests == []


def test_deep_claims_are_refused(exchange: Exchange) -> None:
    deep = '{"iss":' + "[" * 8_000 + "]" * 100
    parts = [b'{"alg":"RS256","kid":"k1"}', deep.encode(), b"x"]
    token = ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)
    assert exchange.ask(token).status_code == 401


def test_giant_tokens_are_refused_before_they_are_read(exchange: Exchange) -> None:
    claims = exchange.issuer.github(URL, padding="x" * 20_000)
    answer = exchange.ask(exchange.issuer.sign(claims))
    assert answer.status_code == 413
    assert exchange.issuer.requests == []


@pytest.mark.long
def test_server_without_trusted_workflows_names_the_setting(exchange: Exchange) -> None:
    exchange.trust()
    refused = exchange.ask()
    assert refused.status_code == 403
    assert "list it under 'ci' of the project in server.yaml" in message(refused)
    assert "a server of one repository needs a server.yaml" in message(refused)
    assert exchange.issuer.requests == []


def test_other_issuers_are_never_requested(exchange: Exchange) -> None:
    other = CiIssuer()
    try:
        for url in (other.url, f"{exchange.issuer.url}/", f"{exchange.issuer.url}@evil.example"):
            token = other.sign(other.github(URL, iss=url))
            answer = exchange.ask(token)
            assert (answer.status_code, message(answer)) == (401, GENERIC)
        assert other.requests == exchange.issuer.requests == []
        assert f"no project trusts the issuer '{other.url}'" in exchange.audit()[-3][0]
    finally:
        other.close()


# ---- attacks: genuine tokens of other runs
NOW = int(time.time())


@pytest.mark.parametrize(("claim", "changes"), [
    ("aud", {"aud": "https://github.com/octo-org"}),
    ("aud", {"aud": [URL, "https://other.example.com"]}),
    ("aud", {"aud": [URL]}),
    ("aud", {"aud": "bbops"}),
    ("aud", {"aud": f"{URL}/"}),
    ("aud", {"aud": f"{URL}.evil.example"}),
    ("aud", {"aud": None}),
    ("exp", {"exp": NOW - 120}),
    ("exp", {"exp": None}),
    ("exp", {"exp": "never"}),
    ("exp", {"exp": True}),
    ("exp", {"exp": float("inf")}),
    ("exp", {"exp": 10**400}),
    ("iat", {"iat": 10**400}),
    ("iat", {"iat": NOW - 720}),
    ("iat", {"iat": NOW + 3_600, "exp": NOW + 7_200}),
    ("iat", {"iat": None}),
    ("nbf", {"nbf": NOW + 3_600}),
    ("jti", {"jti": ""}),
    ("jti", {"jti": "x" * 600}),
    ("repository_id", {"repository_id": "9"}),
    ("repository_id", {"repository_id": None}),
    ("repository_id", {"repository_id": True}),
    ("repository_id", {"repository_id": "01296269"}),
    ("repository_id", {"repository_id": "1296269\n"}),
    ("repository_owner_id", {"repository_owner_id": "9"}),
    ("ref", {"ref": "refs/heads/main2"}),
    ("ref", {"ref": "refs/heads/main/../x"}),
    ("ref", {"ref": "refs/heads/main/x"}),
    ("ref", {"ref": "refs/tags/main"}),
    ("ref", {"ref": "main"}),
    ("ref", {"ref": "refs/heads/MAIN"}),
    ("ref", {"ref": "refs/heads/main\u0000", "job_workflow_ref": "x"}),
    ("ref", {"ref": "refs/pull/7/merge", "event_name": "pull_request"}),
    ("ref", {"ref": None}),
    ("sha", {"sha": "main"}),
    ("repository", {"repository": "a\u202eb"}),
])  # fmt: skip
def test_genuine_tokens_of_other_runs_are_refused_by_the_claim(
    exchange: Exchange, claim: str, changes: dict[str, Any]
) -> None:
    answer = exchange.ask(**changes)
    assert answer.status_code == 403, answer.text
    assert f"'{claim}'" in message(answer)
    text, outcome = exchange.audit()[-1]
    assert (f"'{claim}'" in text, outcome) == (True, "refused")


def test_refusal_names_the_callers_claim_but_no_setting(exchange: Exchange) -> None:
    exchange.trust(exchange.of("small", ref="refs/heads/secret-plan"))
    answer = exchange.ask()
    assert message(answer) == (
        "the claim 'ref' of the identity token is 'refs/heads/main', which is not what the project"
        " requires"
    )
    assert exchange.audit()[-1][0] == (
        "claim 'ref': found 'refs/heads/main', expected 'refs/heads/secret-plan'"
        " (repo:octo-org/octo-repo:ref:refs/heads/main)"
    )


def test_same_name_with_another_number_is_another_repository(exchange: Exchange) -> None:
    """A repository that was deleted, and created again by another owner under its name."""
    answer = exchange.ask(repository_id="7", repository_owner_id="8")
    assert "'repository_id'" in message(answer)
    assert "which is not trusted here" in message(answer)


def test_unknown_and_untrusting_projects_get_the_same_answer(exchange: Exchange) -> None:
    exchange.trust(exchange.of("small"), exchange.of("other", repository_id="9"))
    answers = [exchange.ask(project=name) for name in ("other", "unknown")]
    assert {answer.status_code for answer in answers} == {403}
    assert len({message(answer) for answer in answers}) == 1


def test_environment_is_required_where_it_is_configured(exchange: Exchange) -> None:
    exchange.trust(exchange.of("small", environment="production"))
    for changes in ({}, {"environment": "staging"}, {"environment": "Production"}):
        answer = exchange.ask(**changes)
        assert (answer.status_code, "'environment'" in message(answer)) == (403, True)
    assert exchange.ask(environment="production").status_code == 200


@pytest.mark.parametrize("found", [
    f"octo-org/octo-repo/{FILE}@refs/heads/evil", f"octo-org/octo-repo/.github/x.yml@{MAIN}",
    f"evil/octo-repo/{FILE}@{MAIN}", f"octo-org/octo-repo/{FILE}@main",
    f"octo-org/octo-repo/{FILE}",
])  # fmt: skip
def test_workflow_is_one_file_at_the_ref_of_the_run(exchange: Exchange, found: str) -> None:
    exchange.trust(exchange.of("small", workflow=FILE))
    answer = exchange.ask(job_workflow_ref=found)
    assert (answer.status_code, "'job_workflow_ref'" in message(answer)) == (403, True)
    assert exchange.ask().status_code == 200
    assert exchange.ask(job_workflow_ref=None).status_code == 200, "Forgejo has workflow_ref alone"


def test_reusable_workflow_of_another_repository_is_named_with_its_ref(exchange: Exchange) -> None:
    shared = "octo-org/shared/.github/workflows/publish.yml@refs/tags/v1"
    exchange.trust(exchange.of("small", workflow=shared))
    assert exchange.ask(job_workflow_ref=shared).status_code == 200
    assert exchange.ask(job_workflow_ref=shared.replace("v1", "v2")).status_code == 403
    assert exchange.ask().status_code == 403


def test_star_is_one_segment(exchange: Exchange) -> None:
    exchange.trust(exchange.of("small", ref="refs/pull/*/merge"))
    assert exchange.ask(ref="refs/pull/7/merge").status_code == 200
    for ref in ("refs/pull/7/8/merge", "refs/pull//merge", "refs/pull/../merge", MAIN):
        assert exchange.ask(ref=ref).status_code == 403, ref


# ---- attacks: replay
def test_identity_token_is_accepted_once(exchange: Exchange) -> None:
    claims = exchange.issuer.github(URL)
    token = exchange.issuer.sign(claims)
    assert exchange.ask(token).status_code == 200
    for again in (token, exchange.issuer.sign(claims | {"run_id": "2"}, "e1")):
        answer = exchange.ask(again)
        assert (answer.status_code, "'jti'" in message(answer)) == (403, True)


def test_identity_token_without_an_id_is_accepted_once(exchange: Exchange) -> None:
    token = exchange.issuer.sign(exchange.issuer.github(URL, jti=None))
    assert [exchange.ask(each).status_code for each in (token, token)] == [200, 403]


def test_eight_simultaneous_exchanges_give_a_single_token(exchange: Exchange) -> None:
    token = exchange.issuer.sign(exchange.issuer.github(URL))
    answers = exchange.ask_at_once([token] * 8)
    assert sorted(answer.status_code for answer in answers) == [200, *[403] * 7]
    assert exchange.issuer.fetches == 1


def test_refused_identity_token_can_be_used_after_the_fix(exchange: Exchange) -> None:
    exchange.trust(exchange.of("small", ref="refs/heads/next"))
    token = exchange.issuer.sign(exchange.issuer.github(URL))
    assert exchange.ask(token).status_code == 403
    exchange.trust(exchange.of("small"))
    assert exchange.ask(token).status_code == 200


# ---- the issuer's keys
def end_failure(exchange: Exchange) -> None:
    """Let the time pass in which a failed fetch of keys is remembered."""
    url = exchange.issuer.url
    keys = exchange.control.control.issuers.find(url, {url})
    if keys is not None and keys._failure is not None:
        keys._failure = keys._failure[0] - FAILURE_SECONDS, keys._failure[1]


@pytest.mark.parametrize("document", [
    b"", b"<html>", b"[]", b"{}", b'{"keys": []}', b'{"keys": 7}', b'{"keys": [7]}',
    b'{"keys": [{"kty": "oct", "k": "eA", "kid": "k1", "alg": "HS256"}]}',
    b'{"keys": [{"kty": "RSA", "kid": "k1", "alg": "none"}]}', b"[" * 100_000, b'"\xff"',
    b'{"keys": [], "padding": "' + b"x" * 300_000 + b'"}',
], ids=lambda document: ascii(document[:20]))  # fmt: skip
def test_garbage_in_the_place_of_keys_gives_no_token(exchange: Exchange, document: bytes) -> None:
    exchange.issuer.document = document
    assert exchange.ask().status_code in {401, 503}
    exchange.issuer.document = None
    end_failure(exchange)
    again = exchange.ask()
    assert again.status_code in {200, 401}, again.text


def test_key_with_another_use_signs_nothing(exchange: Exchange) -> None:
    document = json.loads(exchange.issuer.jwks())
    for use in ("enc", [], {"sig": 1}):
        document["keys"][0]["use"] = use
        exchange.issuer.document = json.dumps(document).encode()
        exchange.control.control.issuers._keys.clear()
        assert exchange.ask().status_code == 401


def test_symmetric_key_of_the_issuer_signs_nothing(exchange: Exchange) -> None:
    exchange.issuer.document = json.dumps(
        {"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "k1", "alg": "HS256"}]}
    ).encode()
    claims = exchange.issuer.github(URL)
    forged = sign_by_hand(claims, {"alg": "HS256", "kid": "k1"}, b"secret")
    assert exchange.ask(forged).status_code == 401


def test_weak_key_of_the_issuer_signs_nothing(exchange: Exchange) -> None:
    exchange.issuer.keys["k1"] = weak_rsa_key()
    with pytest.warns(InsecureKeyLengthWarning):
        token = exchange.issuer.sign(exchange.issuer.github(URL))
    assert exchange.ask(token).status_code == 401


@pytest.mark.parametrize("target", ["http://localhost:{port}/jwks", "{url}/other"])
def test_redirects_of_keys_are_not_followed(exchange: Exchange, target: str) -> None:
    port = exchange.issuer.server_address[1]
    exchange.issuer.redirect = target.format(port=port, url=exchange.issuer.url)
    answer = exchange.ask()
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "30")
    assert exchange.issuer.requests == ["/.well-known/openid-configuration", "/jwks"]


@pytest.mark.parametrize("where", ["http://10.0.0.1:{port}/jwks", "http://127.0.0.2:{port}/jwks"])
def test_keys_at_a_private_address_are_not_requested(exchange: Exchange, where: str) -> None:
    port = exchange.issuer.server_address[1]
    exchange.issuer.metadata = {"jwks_uri": where.format(port=port)}
    assert exchange.ask().status_code == 503
    assert exchange.issuer.fetches == 0


def test_issuer_with_another_name_is_refused(exchange: Exchange) -> None:
    exchange.issuer.metadata = {"issuer": "https://token.actions.githubusercontent.com"}
    assert exchange.ask().status_code == 503


@pytest.mark.long
def test_failed_fetch_of_keys_is_remembered_for_a_time(exchange: Exchange) -> None:
    issuer = exchange.issuer
    issuer.document = b"broken"
    assert [exchange.ask().status_code for _ in range(5)] == [503] * 5
    assert issuer.fetches == 1
    issuer.document = None
    assert exchange.ask().status_code == 503
    end_failure(exchange)
    assert exchange.ask().status_code == 200
    assert issuer.fetches == 2


def test_unknown_key_ids_do_not_fetch_keys_each_time(exchange: Exchange) -> None:
    exchange.issue()
    for number in range(5):
        claims = exchange.issuer.github(URL)
        token = jwt.encode(claims, other_rsa_key(), "RS256", headers={"kid": f"x{number}"})
        assert exchange.ask(token).status_code == 401
    assert exchange.issuer.fetches == 1


def test_slow_keys_are_fetched_once_for_simultaneous_requests(exchange: Exchange) -> None:
    issuer = exchange.issuer
    issuer.gate.clear()

    def open_gate() -> None:
        wait_for(lambda: issuer.fetches)
        issuer.gate.set()

    opening = threading.Thread(target=open_gate)
    opening.start()
    tokens = [issuer.sign(issuer.github(URL)) for _ in range(8)]
    assert {answer.status_code for answer in exchange.ask_at_once(tokens)} == {200}
    opening.join()
    assert issuer.fetches == 1


def test_keys_that_do_not_arrive_in_time_give_no_token(
    exchange: Exchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_http, "TIMEOUT_SECONDS", 0.2)
    exchange.issuer.gate.clear()
    assert exchange.ask().status_code == 503


# ---- limits and the guard
def test_attempts_of_an_address_are_limited(exchange: Exchange) -> None:
    exchange.control.control.limits.workflows = Limit(3, 300)
    assert [exchange.ask("x").status_code for _ in range(4)] == [401, 401, 401, 429]
    exchange.control.control.limits.workflows = Limit(3, 300)
    assert [exchange.ask().status_code for _ in range(5)] == [200] * 5


@pytest.mark.parametrize(("address", "network"), [
    ("192.0.2.9", "192.0.2.9"), ("::ffff:192.0.2.9", "192.0.2.9"), ("", ""),
    ("2001:db8::9", "2001:db8::/64"),
])  # fmt: skip
def test_addresses_of_a_proxy_have_the_same_limits(
    tried: Tried, address: str, network: str
) -> None:
    headers = [(b"host", b"127.0.0.1:8001")]
    scope: Any = {"type": "http", "headers": headers, "client": (address, 0), "scheme": "http"}
    visit = Visit(Request(scope | {"litestar_app": tried.app}), tried.control)
    assert visit.network == network


def test_cookies_and_pages_of_other_sites_do_not_count(exchange: Exchange) -> None:
    browser = exchange.control.as_person("ada@example.com")
    answer = browser.call("POST", "/api/ci/token", json={"token": "x"})
    assert answer.status_code == 401
    headers = {"origin": "https://evil.example"}
    answer = browser.call("POST", "/api/ci/token", json={"token": "x"}, headers=headers)
    assert answer.status_code == 403


@pytest.mark.parametrize("body", [{}, {"token": 7}, {"token": "x", "projekt": "small"}, []])
def test_other_bodies_are_refused(exchange: Exchange, body: Any) -> None:
    assert exchange.control.browser().call("POST", "/api/ci/token", json=body).status_code == 400
