"""A person lets an agent in, to a project or to all, and ends that again."""

from __future__ import annotations

import html
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bbops_server.accounts.rules import Role
from bbops_server.settings import Access
from tests.support.control import PASSWORD, URL, Browser, Tried, fresh, tried
from tests.support.islands import without_islands
from tests.support.oauth_client import MCP, REDIRECT, Program, ada, agent, agree, back, hidden

__all__ = ["ada", "agent", "fresh", "tried"]


def test_a_person_lets_an_agent_in(tried: Tried, ada: Browser, agent: Program) -> None:
    page = ada.get(agent.path(scope="builder data"))
    for said in (
        "Robot",
        "agent.example.com",
        "ada@example.com",
        "propose changes",
        "all projects",
    ):
        assert said in page.text
    found = back(agree(ada, agent.path(scope="builder data")))
    assert (found["state"], found["iss"]) == ("s1", URL)
    answer = agent.redeem(found["code"])
    told = answer.json()
    assert (told["token_type"], told["expires_in"]) == ("Bearer", 3600)
    assert told["scope"] == "project data builder"
    assert answer.headers["cache-control"] == "no-store"
    granted = tried.book.grants.find(told["access_token"], MCP)
    assert granted is not None
    assert (granted.client, granted.caller.email) == ("Robot", "ada@example.com")


def test_the_page_cannot_be_framed_and_leads_to_where_the_client_is(
    ada: Browser, agent: Program
) -> None:
    headers = ada.get(agent.path()).headers
    assert headers["x-frame-options"] == "DENY"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "form-action" not in headers["content-security-policy"]


def test_a_refusal_is_told_with_who_says_so(tried: Tried, ada: Browser, agent: Program) -> None:
    found = back(agree(ada, agent.path(), "deny"))
    assert (found["error"], found["state"], found["iss"]) == ("access_denied", "s1", URL)
    assert tried.book.grants.list(tried.book.people.get("ada@example.com").id) == []  # type: ignore[union-attr]


def test_who_is_not_signed_in_signs_in_and_comes_back(tried: Tried, agent: Program) -> None:
    path = agent.path(state="x" * 300, resource=MCP)
    browser = tried.browser()
    away = browser.get(path)
    assert away.headers["location"].startswith("/signin?return_to=%2Foauth%2Fauthorize%3F")
    browser.get(away.headers["location"])
    form = {"email": "ada@example.com", "password": "correct horse battery"}
    shown = browser.get(away.headers["location"])
    come = browser.post("/signin", form | hidden(shown.text))
    assert come.headers["location"] == path


def test_a_new_person_signs_up_and_comes_back(tmp_path: Path) -> None:
    tried = Tried(tmp_path, access=Access(signup="open"))
    tried.add("ada@example.com", Role.OWNER)
    path, browser = Program(tried).path(), tried.browser()
    page = browser.get(browser.get(path).headers["location"]).text
    (link,) = re.findall(r'href="(/signup[^"]+)"', page)
    form = hidden(browser.get(html.unescape(link)).text)
    new = {"email": "new@example.com", "name": "New", "password": PASSWORD}
    assert browser.post("/signup", form | new).headers["location"] == path
    assert "new@example.com" in browser.get(path).text
    tried.close()


def test_the_page_is_opened_thirty_times_a_minute(ada: Browser, agent: Program) -> None:
    found = [ada.get(agent.path()).status_code for _ in range(31)]
    assert found[-2:] == [200, 429]


def test_without_any_account_it_is_said_what_to_do(fresh: Tried) -> None:
    answer = fresh.browser().get(Program(fresh).path())
    assert (answer.status_code, "set-up link" in answer.text) == (403, True)


def test_a_program_on_this_computer_is_warned_of(tried: Tried, ada: Browser) -> None:
    here = Program(tried, redirect_uris=["http://localhost/cb"])
    page = ada.get(here.path(redirect_uri="http://localhost:7777/cb")).text
    assert "a program on this computer" in page
    assert "Any program on this computer can use this name" in page


def test_a_name_is_text(tried: Tried, ada: Browser) -> None:
    page = ada.get(Program(tried, client_name="<script>x</script>").path()).text
    assert "<script>" not in page


@pytest.mark.parametrize("changes", [
    {"client_id": "unknown"}, {"client_id": None}, {"redirect_uri": "https://evil.example/cb"},
    {"redirect_uri": None}, {"redirect_uri": REDIRECT + '"><script>'}, {"client_id": "ä\u2028"},
    {"redirect_uri": "javascript:alert(1)"}, {"state": "x" * 2_500}, {"state": "a\0b"},
])  # fmt: skip
def test_an_answer_is_never_sent_to_where_nobody_registered(
    ada: Browser, agent: Program, changes: dict[str, str | None]
) -> None:
    answer = ada.get(agent.path(**changes))
    assert answer.status_code == 400
    assert "location" not in answer.headers
    assert "<script" not in without_islands(answer.text)


@pytest.mark.parametrize(("changes", "said"), [
    ({"response_type": "token"}, "unsupported_response_type"),
    ({"response_type": None}, "unsupported_response_type"),
    ({"response_type": 'é"'}, "unsupported_response_type"),
    ({"code_challenge": None}, "invalid_request"),
    ({"code_challenge": "x" * 43 + "="}, "invalid_request"),
    ({"code_challenge": "short"}, "invalid_request"),
    ({"code_challenge": "ä" * 43}, "invalid_request"),
    ({"code_challenge_method": "plain"}, "invalid_request"),
    ({"code_challenge_method": None}, "invalid_request"),
    ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
    ({"scope": "root"}, "invalid_scope"),
    ({"resource": "https://evil.example/mcp"}, "invalid_target"),
    ({"resource": f"{MCP}/p/none"}, "invalid_target"),
    ({"resource": f"{MCP}/p/"}, "invalid_target"),
])  # fmt: skip
def test_what_is_not_given_is_told_to_the_client(
    ada: Browser, agent: Program, changes: dict[str, str | None], said: str
) -> None:
    answer = ada.get(agent.path(**changes))
    assert answer.headers["location"].startswith(f"{REDIRECT}?")
    found = back(answer)
    assert (found["error"], found["state"], found["iss"]) == (said, "s1", URL)


@pytest.mark.parametrize("name", ["client_id", "redirect_uri", "scope", "code_challenge", "state"])
def test_a_parameter_is_given_once(ada: Browser, agent: Program, name: str) -> None:
    answer = ada.get(agent.path(scope="project") + f"&{name}=other")
    assert answer.status_code in {303, 400}
    assert "error=invalid_request" in answer.headers.get("location", "error=invalid_request")


@pytest.mark.parametrize(("old", "new"), [
    ("scope=project", "scope=builder"), ("state=s1", "state=s2"), ("S256", "plain"),
    ("agent.example.com", "evil.example.com"),
])  # fmt: skip
def test_what_was_shown_is_what_is_agreed_to(
    ada: Browser, agent: Program, old: str, new: str
) -> None:
    asked = hidden(ada.get(agent.path(scope="project")).text)["query"]
    assert old in asked
    answer = agree(ada, agent.path(scope="project"), query=asked.replace(old, new))
    assert (answer.status_code, "location" in answer.headers) == (403, False)


def test_no_page_of_another_session_is_taken(tried: Tried, ada: Browser, agent: Program) -> None:
    tried.add("bob@example.com", Role.VIEWER)
    bob = tried.as_person("bob@example.com")
    foreign = hidden(bob.get(agent.path()).text)
    assert agree(ada, agent.path(), **foreign).status_code == 403
    own = hidden(ada.get(agent.path()).text)
    assert agree(ada, agent.path(), seal=foreign["seal"], csrf=own["csrf"]).status_code == 403
    assert agree(ada, agent.path(), csrf="").status_code == 403


def test_no_token_agrees_for_its_person(tried: Tried, ada: Browser, agent: Program) -> None:
    token = agent.sign_in(ada)["access_token"]
    form = hidden(ada.get(agent.path()).text) | {"decision": "approve"}
    for key in (token, "bbl_local"):
        headers = {"authorization": f"Bearer {key}", "accept": "application/json"}
        answer = tried.browser().call("POST", "/oauth/authorize", data=form, headers=headers)
        assert answer.status_code in {401, 403}


def test_a_grant_of_a_project_is_for_it_alone(tried: Tried, ada: Browser, agent: Program) -> None:
    resource = f"{MCP}/p/{tried.book.addresses.of('small')}"
    assert "<strong>small</strong>" in ada.get(agent.path(resource=resource)).text
    token = agent.sign_in(ada, resource=resource)["access_token"]
    found = tried.book.grants.find(token, resource)
    assert found is not None
    assert found.project == found.caller.project == "small"
    assert tried.book.grants.find(token, MCP) is None


def test_who_has_no_role_in_a_project_lets_nobody_in(tried: Tried, agent: Program) -> None:
    tried.add("bob@example.com")
    bob = tried.as_person("bob@example.com")
    answer = bob.get(agent.path(resource=f"{MCP}/p/{tried.book.addresses.of('small')}"))
    assert (answer.status_code, "small" in answer.text) == (403, False)


def test_a_person_sees_who_acts_for_them_and_ends_it(
    tried: Tried, ada: Browser, agent: Program
) -> None:
    assert "No agents have access to your account" in ada.get("/account").text
    token = agent.sign_in(ada, scope="data")["access_token"]
    assert tried.book.grants.find(token, MCP)
    page = ada.get("/account").text
    assert "Robot" in page
    assert "project, data, all projects you can see" in page
    (grant,) = re.findall(r"/account/grants/(\w+)/revoke", page)
    tried.add("bob@example.com", Role.OWNER)
    bob = tried.as_person("bob@example.com")
    bob.get("/account")
    bob.post(f"/account/grants/{grant}/revoke")
    assert tried.book.grants.find(token, MCP), "it is none of bob's"
    assert ada.post(f"/account/grants/{grant}/revoke").headers["location"] == "/account?done=agent"
    assert tried.book.grants.find(token, MCP) is None
    assert "Robot" not in ada.get("/account").text
    assert [one.action for one in tried.book.audit.list()] == ["revoke grant", "give grant"]


def test_issuers_are_told_in_addresses_that_have_a_query(tried: Tried, ada: Browser) -> None:
    odd = "https://agent.example.com/cb?a=1"
    agent = Program(tried, redirect_uris=[odd])
    answer = agree(ada, agent.path(redirect_uri=odd))
    assert urlsplit(answer.headers["location"]).query.startswith("a=1&code=bbc_")
