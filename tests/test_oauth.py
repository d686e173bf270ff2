"""Agents sign in: registration, consent, tokens, and all that is refused."""

from __future__ import annotations

import html
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from bbops_server.accounts.rules import Role
from bbops_server.oauth.asked import Sender
from bbops_server.oauth.redirects import allows, is_registrable
from bbops_server.settings import Access
from tests.control import PASSWORD, URL, Browser, Tried, fresh, tried
from tests.granting import VERIFIER
from tests.oauth_client import DEVICE, REDIRECT, Program, agree, back, hidden

__all__ = ["fresh", "tried"]

MCP = f"{URL}/mcp"


@pytest.fixture
def ada(tried: Tried) -> Browser:
    return tried.as_person("ada@example.com")


@pytest.fixture
def agent(tried: Tried) -> Program:
    return Program(tried)


def error(answer: Any) -> str:
    return f"{answer.status_code} {answer.json()['error']}"


# ---- discovery
def test_everything_is_found_by_metadata(tried: Tried) -> None:
    browser = tried.browser()
    resource = browser.get("/.well-known/oauth-protected-resource/mcp").json()
    assert resource["resource"] == MCP
    assert resource == browser.get("/.well-known/oauth-protected-resource").json()
    (issuer,) = resource["authorization_servers"]
    server = browser.get("/.well-known/oauth-authorization-server").json()
    assert server["issuer"] == issuer == URL
    assert server["code_challenge_methods_supported"] == ["S256"]
    assert server["token_endpoint_auth_methods_supported"] == ["none"]
    assert server["scopes_supported"] == ["project", "data", "builder", "api", "ai"]
    assert all(one.startswith(f"{URL}/") for name, one in server.items() if name.endswith("point"))


def test_a_projects_server_has_metadata_of_its_own(tried: Tried) -> None:
    key = tried.book.addresses.of("small")
    path = f"/.well-known/oauth-protected-resource/mcp/p/{key}"
    assert tried.browser().get(path).json()["resource"] == f"{MCP}/p/{key}"
    assert tried.browser().get(path[:-1]).status_code == 404


def test_addresses_are_those_of_the_settings_whatever_host_is_asked(tried: Tried) -> None:
    browser = tried.browser("http://localhost:8001")
    told = browser.get("/.well-known/oauth-authorization-server").json()
    assert told["issuer"] == URL


# ---- pages of other sites
@pytest.mark.parametrize("path", ["/oauth/token", "/oauth/register", "/oauth/revoke"])
def test_programs_in_a_browser_may_ask_for_tokens(tried: Tried, path: str) -> None:
    foreign = {"origin": "https://agent.example.com", "sec-fetch-site": "cross-site"}
    asked = tried.browser().call("OPTIONS", path, headers=foreign)
    assert asked.headers["access-control-allow-origin"] == "*"
    answer = tried.browser().call("POST", path, headers=foreign, data={})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (400, "*")
    assert "access-control-allow-credentials" not in answer.headers


def test_other_forms_come_from_our_own_pages(tried: Tried, ada: Browser, agent: Program) -> None:
    shown = ada.get(agent.path())
    form = hidden(shown.text) | {"decision": "approve"}
    for headers in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
        assert ada.post("/oauth/authorize", form, headers=headers).status_code == 403


def test_the_doors_for_all_are_no_wider_than_said(tried: Tried) -> None:
    foreign = {"origin": "https://evil.example"}
    for path in ("/oauth/device_authorization", "/oauth/device", "/oauth/authorize"):
        assert tried.browser().call("POST", path, headers=foreign).status_code == 403
    answer = tried.browser("http://evil.example").call("POST", "/oauth/token")
    assert (answer.status_code, "error" in answer.json()) == (403, True)
    assert "access-control-allow-origin" not in tried.browser().get("/signin").headers


# ---- registration
def test_a_client_registers_and_is_told_nothing_null(tried: Tried, agent: Program) -> None:
    answer = agent.register({
        "client_name": "Robot", "redirect_uris": [REDIRECT], "logo_uri": None, "client_uri": "",
        "token_endpoint_auth_method": "client_secret_basic", "scope": "project openid",
    })  # fmt: skip
    told = answer.json()
    assert answer.status_code == 201
    assert told.pop("client_id")
    assert told == {
        "client_name": "Robot", "redirect_uris": [REDIRECT], "response_types": ["code"],
        "grant_types": ["authorization_code", "refresh_token"], "scope": "project",
        "token_endpoint_auth_method": "none",
    }  # fmt: skip


@pytest.mark.parametrize("uri", [
    "javascript:alert(1)", "data:text/html,x", "http://agent.example.com/cb", "https://*.example.com/cb",
    "https://agent.example.com/cb#x", "https://agent.example.com/#", "https://u:p@agent.example.com/",
    "https://u@agent.example.com/", "file:///etc/passwd", "vbscript:x", "/callback", "", "https://",
    "https://agent.example.com\\@evil.example/", "https://agent.example.com/\n", "http://127.0.0.1.evil.example/",
    "http://localhost.evil.example/", "http://[::2]/", "http://0.0.0.0/cb", "https://ä.example/",
    "https://agent.example.com:99999/", "about:blank", "blob:https://x/", "x" * 3000,
])  # fmt: skip
def test_an_address_that_no_answer_may_go_to_is_refused(uri: str) -> None:
    assert not is_registrable(uri)


@pytest.mark.parametrize("uris", [["javascript:x"], [REDIRECT, "data:x"], [REDIRECT] * 11, []])
def test_a_client_names_only_addresses_that_answers_may_go_to(
    agent: Program, uris: list[str]
) -> None:
    answer = agent.register({"client_name": "Robot", "redirect_uris": uris})
    assert error(answer) == "400 invalid_redirect_uri"


@pytest.mark.parametrize("uri", [
    "https://vscode.dev/redirect", "http://127.0.0.1:33418", "http://localhost/callback",
    "http://[::1]:8/cb", "cursor://anysphere.cursor/oauth", "com.example.app:/callback",
])  # fmt: skip
def test_addresses_of_known_programs_are_taken(uri: str) -> None:
    assert is_registrable(uri)


@pytest.mark.parametrize(("registered", "asked", "is_right"), [
    (REDIRECT, REDIRECT, True), (REDIRECT, REDIRECT + "/", False),
    (REDIRECT, REDIRECT + "?a=1", False),
    (REDIRECT, "https://agent.example.com:8/callback", False), (REDIRECT, REDIRECT.upper(), False),
    (REDIRECT, "https://agent.example.com/callback/../evil", False), (REDIRECT, "", False),
    ("http://localhost/cb", "http://localhost:5/cb", True),
    ("http://127.0.0.1:1/cb", "http://127.0.0.1:2/cb", True),
    ("http://[::1]/cb", "http://[::1]:2/cb", True),
    ("http://localhost/cb", "http://127.0.0.1:5/cb", False),
    ("http://localhost/cb", "http://localhost:5/other", False),
    ("http://localhost/cb", "http://localhost:5/cb?x=1", False),
    ("http://localhost/cb", "https://localhost:5/cb", False),
    ("http://localhost/cb", "http://localhost:5@evil.example/cb", False),
    ("http://localhost/cb", "http://localhost:5/cb#x", False),
    ("http://localhost/cb", "http://localhost.evil.example/cb", False),
    ("cursor://app/cb", "cursor://app:5/cb", False),
])  # fmt: skip
def test_only_the_port_of_this_computer_may_be_another(
    registered: str, asked: str, is_right: bool
) -> None:
    assert allows([registered], asked) is is_right


@pytest.mark.parametrize("body", [
    b"", b"[]", b"{", b'"x"', b'{"redirect_uris":"x"}', b'{"redirect_uris":[1]}', b"{}",
    b'{"redirect_uris":["https://a.example/"],"client_name":"a\\u202eb"}',
    b'{"redirect_uris":["https://a.example/"],"client_name":7}', b'{"grant_types":[[]]}',
    b'{"redirect_uris":["https://a.example/"],"client_name":"' + b"x" * 300 + b'"}',
    b"\xff", b"[" * 5_000,
])  # fmt: skip
def test_a_registration_that_is_odd_is_refused(tried: Tried, body: bytes) -> None:
    answer = tried.browser().call("POST", "/oauth/register", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("invalid_")


def test_registrations_are_limited(agent: Program) -> None:
    answers = [agent.register({"redirect_uris": [REDIRECT]}) for _ in range(21)]
    assert [one.status_code for one in answers[-3:]] == [201, 429, 429]
    assert int(answers[-1].headers["retry-after"]) > 3_000


# ---- consent
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
    assert "Any program on this computer can call itself so" in page


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
    assert "<script" not in answer.text


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
    asked = hidden(ada.get(agent.path(scope="project")).text)["asked"]
    assert old in asked
    answer = agree(ada, agent.path(scope="project"), asked=asked.replace(old, new))
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


# ---- projects
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


# ---- tokens
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
            threads.map(lambda _: tried.desk.oauth.give_tokens(form, Sender()), range(8))
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


# ---- devices
def begin(agent: Program, **form: str) -> dict[str, Any]:
    given = {"client_id": agent.id, **form}
    answer = agent.web.call("POST", "/oauth/device_authorization", data=given)
    told: dict[str, Any] = answer.json()
    return told


@pytest.fixture
def device(tried: Tried) -> Program:
    return Program(tried, redirect_uris=[], grant_types=[DEVICE, "refresh_token"])


def poll(device: Program, key: str) -> Any:
    return device.token(grant_type=DEVICE, device_code=key)


def test_a_device_is_let_in_by_the_code_it_shows(
    tried: Tried, ada: Browser, device: Program
) -> None:
    begun = begin(device, scope="builder")
    assert begun["verification_uri"] == f"{URL}/oauth/device"
    assert error(poll(device, begun["device_code"])) == "400 authorization_pending"
    assert error(poll(device, begun["device_code"])) == "400 slow_down"
    path = f"/oauth/device?user_code={begun['user_code'].lower()}"
    page = ada.get(path).text
    assert begun["user_code"] in page
    assert "propose changes" in page
    assert "Approved" in agree(ada, path).text
    told = poll(device, begun["device_code"]).json()
    assert told["scope"] == "project builder"
    assert tried.book.grants.find(told["access_token"], MCP)
    assert error(poll(device, begun["device_code"])) == "400 invalid_grant"
    assert ada.get(path).status_code == 404


def test_a_device_that_is_refused_is_told(ada: Browser, device: Program) -> None:
    begun = begin(device)
    assert "Refused" in agree(ada, f"/oauth/device?user_code={begun['user_code']}", "deny").text
    assert error(poll(device, begun["device_code"])) == "400 access_denied"


def test_only_the_client_that_began_asks_for_its_tokens(
    tried: Tried, ada: Browser, device: Program, agent: Program
) -> None:
    begun = begin(device)
    other = Program(tried, redirect_uris=[], grant_types=[DEVICE])
    assert error(poll(other, begun["device_code"])) == "400 unauthorized_client"
    assert error(poll(agent, begun["device_code"])) == "400 unauthorized_client"
    assert begin(agent)["error"] == "unauthorized_client"
    assert begin(device, scope="root")["error"] == "invalid_scope"


def test_codes_are_guessed_five_times(ada: Browser, device: Program) -> None:
    begun = begin(device)
    for number in range(5):
        assert ada.get(f"/oauth/device?user_code=BBBB-BBB{'CDFGH'[number]}").status_code == 404
    answer = ada.get(f"/oauth/device?user_code={begun['user_code']}")
    assert (answer.status_code, "user_code" in answer.text) == (429, True)


def test_a_device_is_let_in_by_the_form_of_its_person(ada: Browser, device: Program) -> None:
    path = f"/oauth/device?user_code={begin(device)['user_code']}"
    assert agree(ada, path, csrf="x" * 64).status_code == 403


# ---- the page of one's account
def test_a_person_sees_who_acts_for_them_and_ends_it(
    tried: Tried, ada: Browser, agent: Program
) -> None:
    assert "None may act for you" in ada.get("/account").text
    token = agent.sign_in(ada, scope="data")["access_token"]
    assert tried.book.grants.find(token, MCP)
    page = ada.get("/account").text
    assert "Robot" in page
    assert "project, data, all projects that you may see" in page
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


# ---- where tokens are good
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
    assert "good at the MCP server alone" in answer.text


def test_no_secret_is_in_the_log_of_what_was_done(
    tried: Tried, ada: Browser, agent: Program
) -> None:
    told = agent.sign_in(ada)
    entries = tried.book.audit.list()
    assert entries[0].action == "give grant"
    assert entries[0].object == "Robot (project) of all projects"
    assert told["access_token"] not in repr(entries)


def test_issuers_are_told_in_addresses_that_have_a_query(tried: Tried, ada: Browser) -> None:
    odd = "https://agent.example.com/cb?a=1"
    agent = Program(tried, redirect_uris=[odd])
    answer = agree(ada, agent.path(redirect_uri=odd))
    assert urlsplit(answer.headers["location"]).query.startswith("a=1&code=bbc_")
