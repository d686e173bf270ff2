"""An agent's program for tests: it registers, sends a person's browser, and takes tokens."""

from __future__ import annotations

import html
import re
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest

from tests.support.control import URL, Browser, Tried
from tests.support.granting import CHALLENGE, VERIFIER

MCP = f"{URL}/mcp"
REDIRECT = "https://agent.example.com/callback"
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
_HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)">')


class Program:
    """One client of one control plane."""

    def __init__(self, tried: Tried, **metadata: Any) -> None:
        self.issuer = tried.settings.control_url
        self.web = tried.browser(accept="application/json")
        given = {"client_name": "Robot", "redirect_uris": [REDIRECT]} | metadata
        answer = self.register(given)
        self.id: str = answer.json().get("client_id", "")

    def register(self, metadata: Any) -> httpx.Response:
        return self.web.call("POST", "/oauth/register", json=metadata)

    def path(self, **changes: str | None) -> str:
        """Return where a person's browser is sent; None leaves a parameter out."""
        given = {
            "response_type": "code", "client_id": self.id, "redirect_uri": REDIRECT,
            "state": "s1", "code_challenge": CHALLENGE, "code_challenge_method": "S256",
        } | changes  # fmt: skip
        return "/oauth/authorize?" + urlencode({k: v for k, v in given.items() if v is not None})

    def token(self, **form: str) -> httpx.Response:
        return self.web.call("POST", "/oauth/token", data={"client_id": self.id} | form)

    def redeem(self, code: str, **changes: str) -> httpx.Response:
        given = {"code": code, "redirect_uri": REDIRECT, "code_verifier": VERIFIER}
        return self.token(grant_type="authorization_code", **given | changes)

    def refresh(self, key: str, **more: str) -> httpx.Response:
        return self.token(grant_type="refresh_token", refresh_token=key, **more)

    def sign_in(self, browser: Browser, **changes: str | None) -> dict[str, Any]:
        """Return the tokens that somebody agreed to."""
        found = back(agree(browser, self.path(**changes)))
        given = {"redirect_uri": changes.get("redirect_uri") or REDIRECT}
        answer = self.redeem(found["code"], **given)
        assert answer.status_code == 200, answer.text
        told: dict[str, Any] = answer.json()
        return told


def hidden(page: str) -> dict[str, str]:
    """Return the fields of a page's form that are not seen, the last form's first."""
    return {name: html.unescape(value) for name, value in _HIDDEN.findall(page)}


def agree(browser: Browser, path: str, decision: str = "approve", **changes: str) -> httpx.Response:
    """Open the page and press a button."""
    shown = browser.get(path)
    assert shown.status_code == 200, shown.text
    form = hidden(shown.text) | {"decision": decision} | changes
    return browser.post(urlsplit(path).path, form)


def back(answer: httpx.Response) -> dict[str, str]:
    """Return what a client is told by a redirect."""
    assert answer.status_code == 303, answer.text
    return {
        name: one[0] for name, one in parse_qs(urlsplit(answer.headers["location"]).query).items()
    }


def error(answer: Any) -> str:
    """Return the status and the code of an answer that refuses."""
    return f"{answer.status_code} {answer.json()['error']}"


@pytest.fixture
def ada(tried: Tried) -> Browser:
    """Return the browser of somebody who is signed in."""
    return tried.as_person("ada@example.com")


@pytest.fixture
def agent(tried: Tried) -> Program:
    """Return a program that is registered."""
    return Program(tried)
