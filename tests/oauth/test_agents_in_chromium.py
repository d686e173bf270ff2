"""Letting agents in, in a real browser: by keyboard alone, on a phone, and back to the program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import httpx
import pytest

from tests.support.browser import DESK, PHONE, find_faults, opened, press, write
from tests.support.callback import Callback, waiting
from tests.support.control import PASSWORD
from tests.support.granting import CHALLENGE, VERIFIER
from tests.support.islands import without_islands
from tests.support.patience import PATIENCE_SECONDS
from tests.support.served import Served
from tests.support.served_people import serve_sample

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

EMAIL = "ada@example.com"
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve_sample(tmp_path_factory.mktemp("agents")) as server:
        yield server


@pytest.fixture
def callback() -> Iterator[Callback]:
    with waiting() as callback:
        yield callback


def ask(server: Served, path: str, **form: str) -> dict[str, Any]:
    answer = httpx.post(server.serving["control_url"] + path, data=form, timeout=PATIENCE_SECONDS)
    told: dict[str, Any] = answer.json()
    return told


def register(server: Served, **metadata: Any) -> str:
    given = {"client_name": "Robot <b>", "redirect_uris": ["http://127.0.0.1/callback"]}
    url = f"{server.serving['control_url']}/oauth/register"
    return str(httpx.post(url, json=given | metadata, timeout=PATIENCE_SECONDS).json()["client_id"])


def address(server: Served, redirect_uri: str, **more: str) -> str:
    given = {
        "response_type": "code", "client_id": register(server), "redirect_uri": redirect_uri,
        "code_challenge": CHALLENGE, "code_challenge_method": "S256", "state": "s", **more,
    }  # fmt: skip
    return f"{server.serving['control_url']}/oauth/authorize?{urlencode(given)}"


def sign_in(page: Page) -> None:
    write(page, "E-mail address", EMAIL)
    write(page, "Password", PASSWORD)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def test_somebody_signs_in_and_lets_an_agent_in_by_keyboard_alone(
    chromium: Browser, server: Served, callback: Callback
) -> None:
    with opened(chromium) as page:
        page.goto(address(server, callback.url, scope="builder"))
        sign_in(page)
        assert page.get_by_role("heading", name="Give an agent access").is_visible()
        assert page.get_by_text("Robot <b>").is_visible()
        press(page, "Give access")
        assert page.url.startswith(callback.url)
        told = callback.told.get(timeout=5)
        assert told["iss"] == server.serving["control_url"]
        page.goto(f"{server.serving['control_url']}/account")
        assert page.get_by_text("project, builder, all projects").is_visible()
        press(page, "Revoke")
        assert page.get_by_role("status").inner_text().startswith("The agent no longer has access")


def test_a_refusal_goes_back_to_the_program(
    chromium: Browser, server: Served, callback: Callback
) -> None:
    with opened(chromium, java_script_enabled=False) as page:
        page.goto(address(server, callback.url))
        page.get_by_label("E-mail address").fill(EMAIL)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        assert "<script" not in without_islands(page.content())
        page.get_by_role("button", name="Deny").click()
        page.wait_for_url(f"{callback.url}**")
        assert callback.told.get(timeout=5)["error"] == "access_denied"


def test_a_device_is_let_in_by_the_code_it_shows(chromium: Browser, server: Served) -> None:
    client = register(server, redirect_uris=[], grant_types=[DEVICE])
    begun = ask(server, "/oauth/device_authorization", client_id=client, scope="data")
    with opened(chromium, viewport=PHONE) as page:
        page.goto(begun["verification_uri"])
        sign_in(page)
        write(page, "The code that the device shows", begun["user_code"].lower())
        press(page, "Continue")
        assert page.get_by_text(begun["user_code"]).is_visible()
        assert find_faults(page) == []
        press(page, "Give access")
        assert page.get_by_role("heading", name="Approved").is_visible()
        assert find_faults(page) == []
    got = ask(
        server, "/oauth/token", client_id=client, grant_type=DEVICE,
        device_code=begun["device_code"],
    )  # fmt: skip
    assert got["scope"] == "project data"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_both_pages_are_seen_read_and_touched(
    chromium: Browser, server: Served, size: Any, scheme: Any
) -> None:
    long = f"https://{'a' * 60}.{'b' * 60}.example.com/callback"
    client = register(server, client_name="W" * 200, redirect_uris=[long])
    here = address(server, "http://127.0.0.1:7/callback", scope="project data builder api ai")
    there = here.replace(here.split("client_id=")[1].split("&")[0], client).replace(
        "http%3A%2F%2F127.0.0.1%3A7%2Fcallback", long.replace(":", "%3A").replace("/", "%2F")
    )
    with opened(chromium, viewport=size, color_scheme=scheme) as page:
        page.goto(here)
        sign_in(page)
        for path in (here, there, f"{server.serving['control_url']}/oauth/device"):
            page.goto(path)
            assert find_faults(page) == []


def test_what_is_wrong_is_said_on_a_page(chromium: Browser, server: Served) -> None:
    with opened(chromium, viewport=PHONE) as page:
        page.goto(address(server, "http://127.0.0.1:7/callback"))
        sign_in(page)
        answer = page.request.get(address(server, "https://evil.example/"))
        assert (answer.status, "is not registered" in answer.text()) == (400, True)


def test_the_code_of_a_browser_becomes_tokens(
    chromium: Browser, server: Served, callback: Callback
) -> None:
    asked = address(server, callback.url)
    with opened(chromium) as page:
        page.goto(asked)
        sign_in(page)
        press(page, "Give access")
    got = ask(
        server, "/oauth/token", grant_type="authorization_code", redirect_uri=callback.url,
        client_id=asked.split("client_id=")[1].split("&")[0], code_verifier=VERIFIER,
        code=callback.told.get(timeout=5)["code"],
    )  # fmt: skip
    assert got["token_type"] == "Bearer"
