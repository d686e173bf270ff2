"""An agent takes tokens and renews them; each is good once, and at one door."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from bbops_server.mcp.oauth.authlib_request import Sender
from tests.support.control import Browser, Tried, tried
from tests.support.granting import VERIFIER
from tests.support.oauth_client import (
    DEVICE,
    MCP,
    REDIRECT,
    Program,
    ada,
    agent,
    agree,
    back,
    error,
)

__all__ = ["ada", "agent", "tried"]


def test_a_code_needs_its_secret_its_client_and_its_address(
    tried: Tried, ada: Browser, agent: Program
) -> None:
    code = back(agree(ada, agent.path(resource=MCP)))["code"]
    wrong: list[tuple[dict[str, str], str]] = [
        ({"code_verifier": "w" * 43}, "invalid_grant"), ({"code_verifier": ""}, "invalid_request"),
        ({"code_verifier": "short"}, "invalid_request"),
        ({"redirect_uri": "https://evil.example/"}, "invalid_grant"),
        ({"redirect_uri": ""}, "invalid_grant"), ({"resource": f"{MCP}/p/x"}, "invalid_target"),
        ({"client_id": Program(tried).id}, "invalid_grant"), ({"client_id": "x"}, "invalid_client"),
        ({"client_secret": "x"}, "invalid_client"),
    ]  # fmt: skip
    for changes, said in wrong:
        assert error(agent.redeem(code, **changes)) == f"400 {said}"
    assert error(agent.redeem("bbc_x")) == "400 invalid_grant"
    assert agent.redeem(code, resource=MCP).status_code == 200


def test_a_code_that_comes_twice_ends_what_it_gave(
    tried: Tried, ada: Browser, agent: Program
) -> None:
    code = back(agree(ada, agent.path()))["code"]
    told = agent.redeem(code).json()
    assert error(agent.redeem(code)) == "400 invalid_grant"
    assert tried.book.grants.find(told["access_token"], MCP) is None
    assert error(agent.refresh(told["refresh_token"])) == "400 invalid_grant"
    entry = tried.book.audit.list()[0]
    assert (entry.action, entry.who, entry.outcome) == (
        "find a replay", "ada@example.com", "grant revoked"
    )  # fmt: skip
    assert entry.object == "code of Robot"


def test_of_eight_who_use_a_code_at_once_one_gets_tokens(
    tried: Tried, ada: Browser, agent: Program
) -> None:
    code = back(agree(ada, agent.path()))["code"]
    form = (
        f"grant_type=authorization_code&client_id={agent.id}&code={code}"
        f"&redirect_uri={REDIRECT}&code_verifier={VERIFIER}"
    )
    with ThreadPoolExecutor(8) as threads:
        answers = list(
            threads.map(lambda _: tried.control.oauth.give_tokens(form, Sender()), range(8))
        )
    assert sorted(one.status for one in answers) == [200] + [400] * 7


def test_a_refresh_token_may_ask_for_less_and_never_for_more(
    tried: Tried, ada: Browser, agent: Program
) -> None:
    first = agent.sign_in(ada, scope="builder")
    assert first["scope"] == "project builder"
    assert error(agent.refresh(first["refresh_token"], scope="data")) == "400 invalid_scope"
    other = agent.refresh(first["refresh_token"], resource="https://evil.example/mcp")
    assert error(other) == "400 invalid_target"
    foreign = Program(tried)
    assert error(foreign.refresh(first["refresh_token"])) == "400 invalid_grant"
    less = agent.refresh(first["refresh_token"], scope="project").json()
    assert less["scope"] == "project"
    assert agent.refresh(less["refresh_token"]).json()["scope"] == "project builder"


def test_a_client_that_never_refreshes_gets_no_refresh_token(tried: Tried, ada: Browser) -> None:
    once = Program(tried, grant_types=["authorization_code"])
    assert "refresh_token" not in once.sign_in(ada)


@pytest.mark.parametrize(("form", "said"), [
    ({}, "unsupported_grant_type"), ({"grant_type": "password"}, "unsupported_grant_type"),
    ({"grant_type": 'é"\\'}, "unsupported_grant_type"),
    ({"grant_type": "refresh_token"}, "invalid_request"),
    ({"grant_type": "authorization_code"}, "invalid_request"),
    ({"grant_type": DEVICE}, "invalid_request"),
    ({"grant_type": "refresh_token", "refresh_token": "x" * 1_900}, "invalid_grant"),
    ({"grant_type": "refresh_token", "refresh_token": "x" * 9_000}, "invalid_request"),
    ({"grant_type": "refresh_token", "refresh_token": "a\0b"}, "invalid_request"),
    ({f"p{n}": "x" for n in range(100)}, "invalid_request"),
])  # fmt: skip
def test_an_odd_request_for_tokens_is_refused(
    agent: Program, form: dict[str, str], said: str
) -> None:
    assert error(agent.token(**form)) == f"400 {said}"


def test_requests_for_tokens_are_limited(agent: Program) -> None:
    answers = [agent.token() for _ in range(61)]
    assert [one.status_code for one in answers[-2:]] == [400, 429]
    assert "retry-after" in answers[-1].headers
    assert answers[-1].headers["access-control-allow-origin"] == "*"


def test_a_client_may_end_its_grant(tried: Tried, ada: Browser, agent: Program) -> None:
    told = agent.sign_in(ada)
    other = Program(tried)
    foreign = {"client_id": other.id, "token": told["access_token"]}
    assert agent.web.call("POST", "/oauth/revoke", data=foreign).status_code == 200
    assert tried.book.grants.find(told["access_token"], MCP)
    own = {
        "client_id": agent.id,
        "token": told["refresh_token"],
        "token_type_hint": "refresh_token",
    }
    assert agent.web.call("POST", "/oauth/revoke", data=own).status_code == 200
    assert tried.book.grants.find(told["access_token"], MCP) is None
    assert agent.web.call("POST", "/oauth/revoke", data=own | {"token": "x"}).status_code == 200


def test_an_agents_token_is_good_at_no_other_door(
    tried: Tried, ada: Browser, agent: Program
) -> None:
    told = agent.sign_in(ada, scope="builder")
    for key in (told["access_token"], told["refresh_token"]):
        headers = {"authorization": f"Bearer {key}"}
        for path in (
            "/api/projects",
            "/api/whoami",
            "/git/small.git/info/refs?service=git-upload-pack",
        ):
            answer = tried.browser(accept="application/json").call("GET", path, headers=headers)
            assert answer.status_code == 401, path
    headers = {"authorization": f"Bearer {told['access_token']}"}
    answer = tried.browser(accept="application/json").call("GET", "/api/projects", headers=headers)
    assert "can only be used at the MCP server" in answer.text


def test_no_secret_is_in_the_log_of_what_was_done(
    tried: Tried, ada: Browser, agent: Program
) -> None:
    told = agent.sign_in(ada)
    entries = tried.book.audit.list()
    assert entries[0].action == "give grant"
    assert entries[0].object == "Robot (project) of all projects"
    assert told["access_token"] not in repr(entries)
