"""A device is let in by the code that it shows."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.control import URL, Browser, Tried, tried
from tests.support.oauth_client import DEVICE, MCP, Program, ada, agent, agree, error

__all__ = ["ada", "agent", "tried"]


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
