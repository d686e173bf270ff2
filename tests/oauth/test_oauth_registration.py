"""An agent's program registers, and names where answers may go."""

from __future__ import annotations

import pytest

from bbops_server.mcp.oauth.client import allows, is_registrable
from tests.support.control import Tried, tried
from tests.support.oauth_client import REDIRECT, Program, agent, error

pytestmark = pytest.mark.quick

__all__ = ["agent", "tried"]


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
