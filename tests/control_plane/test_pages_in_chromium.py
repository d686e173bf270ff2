"""The control plane in a real browser: by keyboard alone, on a phone, without scripts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.support.browser import DESK, PHONE, find_faults, go_to, opened, press, write
from tests.support.control import PASSWORD
from tests.support.islands import without_islands
from tests.support.served import LIST, Served, git, make_project
from tests.support.served_people import serve_sample

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

EMAIL = "ada@example.com"
PAGES = (
    "/", "/projects/sample", "/projects/sample/drafts", "/projects/sample/proposals",
    "/projects/sample/keys",
    "/projects/sample/proposals/1", "/account", "/people", "/workspace", "/audit", "/approve",
)  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with an account, two versions, a draft, and a proposal that loosens access."""
    with serve_sample(tmp_path_factory.mktemp("pages")) as server:
        server.edit(LIST, "        page:", "        more: 1\n        page:")
        server.commit("Tell more of each page")
        server.live()
        propose(server, "topic", "Ask as often as you like")
        yield server


def propose(server: Served, branch: str, title: str) -> int:
    """Open a proposal by the key of this machine's user, so that anybody else may approve it."""
    folder = server.repository
    git(folder, "switch", "-qc", branch, "main")
    path = folder / "channels/notes-v1.yaml"
    path.write_text(path.read_text().replace("rateLimit: 600", "rateLimit: 0") + f"# {branch}\n")
    git(folder, "commit", "-qam", title)
    git(folder, "switch", "-q", "main")
    made = ask(server, "POST", "/api/projects/sample/proposals", json={"branch": branch})
    assert made.status_code == 201, made.text
    return int(made.json()["number"])


def ask(
    server: Served, method: str, path: str, token: str = "", **more: Any
) -> httpx.Response:  # fmt: skip
    """Ask the control plane as this machine's user, or with a token."""
    key = json.loads((server.repository / ".bbops/state/control.json").read_text())["token"]
    headers = {"authorization": f"Bearer {token or key}"}
    url = server.serving["control_url"] + path
    return httpx.request(method, url, headers=headers, timeout=60, **more)


def until(server: Served, kind: str) -> None:
    """Wait for an event; what was asked for twice may go live twice."""
    while server.events.get(timeout=30)["event"] != kind:
        pass


def sign_in(page: Page, server: Served) -> None:
    page.goto(f"{server.serving['control_url']}/signin")
    write(page, "E-mail address", EMAIL)
    write(page, "Password", PASSWORD)
    with page.expect_navigation():
        page.keyboard.press("Enter")


@pytest.fixture
def page(chromium: Browser, server: Served) -> Iterator[Page]:
    """The browser of somebody who has signed in, at the front page."""
    with opened(chromium) as page:
        sign_in(page, server)
        yield page


def test_the_first_account_is_made_and_signed_in_by_keyboard_alone(
    chromium: Browser, tmp_path: Path
) -> None:
    with Served(make_project(tmp_path / "sample"), tmp_path / "home") as server:
        server.live()
        with opened(chromium) as page:
            page.goto(server.serving["control_url"])
            press(page, "Create the first account")
            write(page, "Your name", "Ada")
            write(page, "E-mail address", EMAIL)
            write(page, "Password", PASSWORD)
            press(page, "Create account")
            press(page, "Sign out")
            sign_in(page, server)
            assert page.get_by_role("heading", name="sample live").is_visible()
            page.reload()
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.innerText") == "Skip to content"


def test_a_proposal_is_read_commented_approved_and_merged(page: Page, server: Served) -> None:
    number = propose(server, "again", "Let carts ask more")
    press(page, "sample")
    press(page, "Proposals")
    press(page, f"#{number} Let carts ask more")
    assert page.get_by_text("rate-limit-raised").first.is_visible()
    assert not page.get_by_role("button", name="Merge").is_visible()
    write(page, "Comment", "why so often?")
    press(page, "Comment")
    assert page.get_by_role("status").inner_text() == "Your comment was added."
    press(page, "Approve")
    assert page.get_by_text("Nothing blocks the merge.").is_visible()
    press(page, "Merge and publish")
    assert "live: " in page.get_by_role("status").inner_text()
    assert page.get_by_text("why so often?").is_visible()
    found = ask(server, "GET", "/api/projects/sample/status").json()
    assert found["applied_revision"].endswith(git(server.repository, "rev-parse", "main"))


def test_a_draft_is_opened_from_its_page(page: Page, server: Served) -> None:
    page.goto(f"{server.serving['control_url']}/projects/sample/drafts")
    go_to(page, "Open topic")
    with page.expect_response(lambda one: "/~drafts/topic/" in one.url) as entered:
        page.keyboard.press("Enter")
    assert entered.value.status == 303
    page.get_by_role("heading", name="Draft topic of sample").wait_for()
    assert page.get_by_role("link", name="/api/v1/notes").is_visible()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size(PHONE)
        assert find_faults(page) == []
        page.set_viewport_size(DESK)
        assert find_faults(page) == []
    press(page, "API reference")
    assert page.url.endswith("/projects/sample/drafts/topic/reference")


def test_version_leads_to_its_changes(page: Page) -> None:
    press(page, "sample")
    press(page, "Versions")
    page.get_by_role("link", name="Changes of v2").click()
    assert page.get_by_role("heading", name="Compare v1 and v2").is_visible()
    assert page.get_by_role("heading", name="Changed files").is_visible()


def test_going_back_to_a_version_is_proposed(page: Page) -> None:
    press(page, "sample")
    press(page, "Propose to roll back to v1")
    assert page.get_by_role("heading", name="Roll back to v1").is_visible()
    press(page, "Close")
    assert page.get_by_role("status").inner_text() == "It is closed."


def test_a_token_is_made_shown_once_and_revoked(page: Page, server: Served) -> None:
    press(page, "Account")
    write(page, "Purpose of the token", "my laptop")
    press(page, "Create token")
    token = page.locator(".secret").inner_text()
    assert ask(server, "GET", "/api/whoami", token).json()["email"] == EMAIL
    page.goto(f"{server.serving['control_url']}/account")
    assert token not in page.content()
    press(page, "Revoke")
    assert ask(server, "GET", "/api/whoami", token).status_code == 401


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_every_page_is_seen_read_and_touched(
    page: Page, server: Served, size: Any, scheme: Any
) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size(size)
    faults = {}
    for path in PAGES:
        answer = page.goto(server.serving["control_url"] + path)
        assert answer is not None
        assert answer.status == 200, path
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        faults[path] = find_faults(page)
    assert {path: found for path, found in faults.items() if found} == {}


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_the_pages_of_nobody_too(chromium: Browser, server: Served, size: Any) -> None:
    with opened(chromium, viewport=size) as page:
        page.goto(f"{server.serving['control_url']}/signin")
        assert find_faults(page) == []


def test_mistakes_are_told_and_kept_readable(page: Page, server: Served) -> None:
    server.edit(LIST, "steps:", "stpes:")
    server.commit("Break it")
    until(server, "stalled")
    page.set_viewport_size(PHONE)
    for path in ("/", "/projects/sample"):
        page.goto(server.serving["control_url"] + path)
        assert page.get_by_text("unknown key 'stpes'").first.is_visible()
        assert find_faults(page) == []
    git(server.repository, "revert", "--no-edit", "HEAD")
    until(server, "live")


def test_no_page_needs_scripts(chromium: Browser, server: Served) -> None:
    with opened(chromium, java_script_enabled=False) as page:
        url = server.serving["control_url"]
        page.goto(f"{url}/signin")
        page.get_by_label("E-mail address").fill(EMAIL)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        for path in PAGES:
            page.goto(url + path)
            assert "<script" not in without_islands(page.content())
        page.goto(f"{url}/projects/sample/proposals/1")
        page.get_by_label("Comment").fill("without a script")
        page.get_by_role("button", name="Comment").click()
        assert page.get_by_text("without a script").is_visible()
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url("**/signin*")
