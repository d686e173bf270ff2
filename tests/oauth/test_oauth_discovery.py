"""What agents find before they sign in, and from which pages they may."""

from __future__ import annotations

import pytest

from tests.support.control import URL, Browser, Tried, tried
from tests.support.oauth_client import MCP, Program, ada, agent, hidden

pytestmark = pytest.mark.quick

__all__ = ["ada", "agent", "tried"]


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
