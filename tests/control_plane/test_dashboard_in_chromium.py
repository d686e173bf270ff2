"""The dashboard in a browser: accessible, safe with hostile texts, and usable without scripts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from bbops.source.git import store
from tests.support.axe import axe, find_violations
from tests.support.browser import DESK, MOST_TABS, PHONE, find_faults, go_to, opened, press, write
from tests.support.browser_sign_in import sign_in, sign_in_by_form
from tests.support.hostile_project import AUTHOR, BRANCH, FILES, LONG, PAYLOAD
from tests.support.patience import wait_for
from tests.support.served import Served, git
from tests.support.served_people import run, serve_sample, set_up

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

__all__ = ["axe"]
BASE = "/projects/hostile"
PANELS = (
    "", "/endpoints", "/endpoints/list", "/endpoints/list?tab=function",
    "/endpoints/list?tab=requests", "/endpoints/list?tab=tests", "/endpoints/list?tab=yaml",
    "/functions", "/functions/list", "/tables", "/tables/users", "/channels", "/channels/v1",
    "/values", "/addons", "/files/functions/list.yaml", "/playground", "/playground/list",
    "/requests", "/requests/1", "/requests/2", "/jobs", "/webhooks", "/events", "/realtime",
    "/agents",
    "/drafts", "/proposals", "/proposals/1", "/versions", "/frontend", "/reference", "/keys",
    "/pages?name=first",
)  # fmt: skip
OTHERS = ("/", "/parts", "/account", "/people", "/roles", "/workspace", "/audit")
_OUTSIDE = """() => [...document.querySelectorAll('main *, .side *, .top *')].filter((one) => {
  const box = one.getBoundingClientRect();
  const scrolls = '.sr-only, .table, .tabs, pre, svg, [popover]:not(:popover-open)';
  if (!box.width || one.closest(scrolls)) return false;
  return box.right > document.documentElement.clientWidth + 1;
}).map((one) => one.outerHTML.slice(0, 120))"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose project, author, branch and requests attack its pages."""
    folder = tmp_path_factory.mktemp("hostile")
    files = {name: text.encode() for name, text in FILES.items()}
    store.init(folder / "hostile", files, message=PAYLOAD)
    with Served(folder / "hostile", folder / "home") as served:
        served.live()
        set_up(served).close()
        served.edit("functions/nightly.yaml", "steps:", f"# {PAYLOAD[:60]}\nsteps:")
        git(served.repository, "commit", "-qam", PAYLOAD, f"--author={AUTHOR} <a@example.com>")
        served.live()
        propose(served)
        for path in ("/v1/list", f"/v1/{PAYLOAD}", "/v1/list?word=<script>"):
            served.api.get(path, headers={"user-agent": "<script>alert(1)</script>"})
        served.api.post("/v1/fails", json={"a": PAYLOAD})
        yield served


def propose(served: Served) -> None:
    """Push a hostile branch, and propose it with a hostile title."""
    git(served.repository, "switch", "-qc", BRANCH)
    served.edit("functions/nightly.yaml", "steps:", "# more\nsteps:")
    served.commit(PAYLOAD)
    git(served.repository, "switch", "-q", "main")
    key = json.loads((served.repository / ".bbops/state/control.json").read_text())["token"]
    made = served.control.post(
        "/api/projects/hostile/proposals", headers={"authorization": f"Bearer {key}"},
        json={"branch": BRANCH, "title": f"{PAYLOAD} {LONG}"[:200], "description": PAYLOAD},
    )  # fmt: skip
    assert made.status_code == 201, made.text


@pytest.fixture
def page(chromium: Browser, hostile: Served) -> Iterator[Page]:
    with opened(chromium) as page:
        sign_in(page, hostile)
        yield page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_pages_are_accessible_and_keep_hostile_texts_in_their_boxes(
    page: Page, hostile: Served, axe: str, size: Any, scheme: Any
) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size(size)
    found: dict[str, list[str]] = {}
    for path in (*(BASE + panel for panel in PANELS), *OTHERS):
        answer = page.goto(hostile.serving["control_url"] + path)
        assert answer is not None
        assert answer.status == 200, path
        assert page.evaluate("window.hacked") is None, path
        found[path] = [*find_faults(page), *find_violations(page, axe), *page.evaluate(_OUTSIDE)]
    faulty = [f"{path}: {fault}" for path, faults in found.items() for fault in faults]
    assert faulty == [], "\n".join(faulty)


@pytest.fixture
def sample(tmp_path: Path) -> Iterator[Served]:
    """A server whose project has a draft `topic`."""
    with serve_sample(tmp_path) as served:
        git(served.repository, "branch", "topic")
        yield served


REGISTRATION = {"email": "eve@example.com", "password": "correct horse", "name": "Eve"}


def test_request_to_a_draft_is_traced_saved_as_a_test_and_proposed_without_scripts(
    chromium: Browser, sample: Served
) -> None:
    with opened(chromium, java_script_enabled=False) as page:
        sign_in_by_form(page, sample)
        wait_for(lambda: "topic" in read(page, sample, "/projects/sample/drafts"))
        page.goto(sample.serving["control_url"] + "/projects/sample/endpoints?in=topic")
        page.get_by_role("link", name="POST /api/auth/register").click()
        page.get_by_role("link", name="Playground", exact=True).nth(1).click()
        for name, value in REGISTRATION.items():
            page.locator(f"[name='body:{name}']").fill(value)
        page.get_by_role("button", name="Send to topic").click()
        assert page.get_by_text("201 Created").is_visible()
        assert page.get_by_role("heading", name="Trace").is_visible()
        assert page.get_by_role("link", name="functions/auth/register.yaml").count() > 1
        page.get_by_text("Save as a test").click()
        page.get_by_label("Name of the case").fill("Eve signs up")
        page.get_by_role("button", name="Preview the test").click()
        assert page.get_by_text("+  - name: Eve signs up").is_visible()
        page.get_by_role("button", name="Commit to topic").click()
        assert "Committed to draft topic" in page.get_by_role("status").inner_text()
        page.get_by_role("button", name="Propose topic").click()
        assert page.get_by_role("heading", name="Plan").is_visible()
    assert_case_passes(sample, "Eve signs up")


def test_request_as_a_user_of_a_draft_is_traced_saved_and_proposed_by_keyboard_alone(
    chromium: Browser, sample: Served
) -> None:
    with opened(chromium) as page:
        sign_in(page, sample)
        wait_for(lambda: "topic" in read(page, sample, "/projects/sample/drafts"))
        page.goto(
            sample.serving["control_url"] + "/projects/sample/endpoints/auth/register?in=topic"
        )
        open_playground(page)
        for name, value in REGISTRATION.items():
            write_field(page, f"body:{name}", value)
        press(page, "Send to topic")
        assert page.get_by_text("201 Created").is_visible()
        page.goto(sample.serving["control_url"] + "/projects/sample/endpoints?in=topic")
        press(page, "GET\n/api/me")
        open_playground(page)
        go_to(page, "an anonymous client")
        page.keyboard.press("ArrowDown")
        write(page, "Id or email of the user", REGISTRATION["email"])
        press(page, "Send to topic")
        assert page.get_by_text("200 OK").is_visible()
        assert page.get_by_role("heading", name="Trace").is_visible()
        open_details(page, "Save as a test")
        write(page, "Name of the case", " to Eve")
        press(page, "Preview the test")
        assert page.get_by_text("The user's row in the test is made up").is_visible()
        press(page, "Commit to topic")
        press(page, "Propose topic")
        assert page.get_by_role("heading", name="Plan").is_visible()
    assert_case_passes(sample, "to Eve")


def assert_case_passes(served: Served, case: str) -> None:
    """Run the tests of the draft, of which one has this name."""
    git(served.repository, "switch", "-q", "topic")
    tested = run(served, "test", "--json")
    assert tested.returncode == 0, tested.stdout
    assert case in tested.stdout


def write_field(page: Page, name: str, text: str) -> None:
    """Write into the field of a form, reached by Tab."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.name") == name:
            page.keyboard.type(text)
            return
    pytest.fail(f"Tab does not lead to the field '{name}'")


def open_playground(page: Page) -> None:
    """Press the tab of an endpoint's page; the side bar has a link of the same name."""
    open_details(page, "Skip to content")
    press(page, "Playground")


def open_details(page: Page, title: str) -> None:
    """Open a part of the page, or go to it."""
    go_to(page, title)
    page.keyboard.press("Enter")


def test_menu_opens_by_keyboard_on_a_phone(page: Page, hostile: Served) -> None:
    page.set_viewport_size({"width": 375, "height": 720})
    page.goto(f"{hostile.serving['control_url']}{BASE}")
    assert not page.get_by_role("link", name="Endpoints").is_visible()
    go_to(page, "Menu")
    page.keyboard.press("Enter")
    press(page, "Endpoints\n2")
    assert page.get_by_role("heading", name="Endpoints").is_visible()


def read(page: Page, served: Served, path: str) -> str:
    """Return the text of a page, with the session of the browser."""
    cookies = {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}
    url = served.serving["control_url"] + path
    return httpx.get(url, cookies=cookies, headers={"accept": "text/html"}, timeout=60).text
