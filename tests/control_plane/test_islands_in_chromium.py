"""Islands in a browser: search by keyboard, live requests, local times and themes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from bbops_server.control_plane.web.islands import Islands
from tests.support.axe import axe, find_violations
from tests.support.browser import DESK, PHONE, find_faults, go_to, opened
from tests.support.browser_sign_in import sign_in, sign_in_by_form
from tests.support.hostile_project import FILES, PAYLOAD
from tests.support.islands import hide, islands
from tests.support.patience import wait_for
from tests.support.served import Served
from tests.support.served_people import run, serve_sample, set_up

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

__all__ = ["axe", "islands"]
BASE = "/projects/sample"
ROWS = "bb-live tbody tr"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve_sample(tmp_path_factory.mktemp("islands")) as served:
        yield served


@pytest.fixture
def page(chromium: Browser, served: Served, islands: Islands) -> Iterator[Page]:
    """A page whose console reports no error and no violation of the policy."""
    with opened(chromium, timezone_id="Asia/Tokyo") as page:
        sign_in(page, served)
        yield page


def go(page: Page, served: Served, path: str) -> None:
    page.goto(served.serving["control_url"] + path)


def test_palette_leads_to_a_resource_by_keyboard_alone(page: Page, served: Served) -> None:
    go(page, served, BASE)
    page.keyboard.press("Control+k")
    page.keyboard.type("POST auth/register")
    options = page.get_by_role("option")
    options.filter(has_text="POST /api/auth/register").wait_for()
    assert options.first.get_attribute("aria-selected") == "true"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.url.endswith("/endpoints/auth/register")


@pytest.mark.parametrize("words", ["notes", "get /api", "no", "roll back"])
def test_palette_ranks_as_the_server_does(page: Page, served: Served, words: str) -> None:
    go(page, served, BASE)
    found = page.request.get(
        f"{served.serving['control_url']}/api{BASE}/search", params={"q": words}
    )
    expected = [entry["text"] for entry in found.json()["entries"]][:50]
    page.keyboard.press("Control+k")
    page.keyboard.type(words)
    wait_for(lambda: page.locator("[role=option] > :first-child").all_inner_texts() == expected)
    assert expected


def test_palette_closes_by_escape_and_returns_the_focus(page: Page, served: Served) -> None:
    go(page, served, f"{BASE}/endpoints")
    go_to(page, "Search")
    page.keyboard.press("Enter")
    page.get_by_role("option").first.wait_for()
    page.keyboard.type("zebra")
    page.get_by_text("No page or resource contains each of these words.").wait_for()
    page.keyboard.press("Escape")
    assert page.get_by_role("dialog").count() == 0
    assert page.evaluate("document.activeElement.innerText.trim()") == "Search"


def test_palette_asks_the_server_where_there_are_too_many_entries(
    page: Page, served: Served
) -> None:
    go(page, served, BASE)
    page.locator("bb-palette").evaluate(
        "(palette) => palette.setAttribute('src', '/api/projects/sample/search?limit=3')"
    )
    page.keyboard.press("Control+k")
    page.keyboard.type("register")
    page.get_by_role("option", name="POST /api/auth/register").first.wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE, {"width": 1280, "height": 800}], ids=str)
def test_open_palette_is_accessible(
    page: Page, served: Served, axe: str, size: Any, scheme: Any
) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size(size)
    go(page, served, f"{BASE}/requests")
    page.keyboard.press("Control+k")
    page.get_by_role("option").first.wait_for()
    assert [*find_violations(page, axe), *find_faults(page)] == []


def test_new_requests_appear_while_the_page_is_visible(page: Page, served: Served) -> None:
    served.api.get("/api/first")
    go(page, served, f"{BASE}/requests")
    served.api.get("/api/<b>second</b>")
    page.locator(ROWS).filter(has_text="/api/<b>second</b>").wait_for()
    newest = page.locator(ROWS).first
    assert newest.locator(".status").get_attribute("class") == "status s4"
    with page.expect_response(lambda answer: "/stream?" in answer.url):
        hide(page, is_hidden=True)
        served.api.get("/api/third")
        wait_for(lambda: "/api/third" in read_requests(served))
        assert page.get_by_text("/api/third").count() == 0
        hide(page, is_hidden=False)
    page.locator(ROWS).filter(has_text="/api/third").wait_for()
    texts = page.locator(f"{ROWS} td[data-label=Path]").all_inner_texts()
    assert texts.count("/api/third") == texts.count("/api/<b>second</b>") == 1
    with page.expect_navigation():
        page.locator(ROWS).filter(has_text="/api/third").get_by_role("link").first.click()
    assert page.get_by_text("/api/third").first.is_visible()


def test_live_view_is_paused_by_its_button(page: Page, served: Served) -> None:
    go(page, served, f"{BASE}/requests")
    page.get_by_role("button", name="Live").click()
    served.api.get("/api/paused")
    wait_for(lambda: "/api/paused" in read_requests(served))
    assert page.get_by_text("/api/paused").count() == 0
    page.get_by_role("button", name="Live").click()
    page.get_by_text("/api/paused").wait_for()


def test_filtered_requests_are_not_live(page: Page, served: Served) -> None:
    go(page, served, f"{BASE}/requests?status=4xx")
    assert page.get_by_role("button", name="Live").count() == 0


def test_overview_shows_that_the_project_has_changed(page: Page, served: Served) -> None:
    go(page, served, BASE)
    served.edit("functions/notes/list.yaml", "steps:", "# again\nsteps:")
    served.commit()
    served.live()
    page.get_by_text("The project has changed: it is live now.").wait_for()


def test_times_are_local_and_keep_the_utc_time(page: Page, served: Served) -> None:
    served.api.get("/api/timed")
    wait_for(lambda: "/api/timed" in read_requests(served))
    go(page, served, f"{BASE}/requests")
    time = page.locator(f"{ROWS} time").first
    shown, title = time.inner_text(), time.get_attribute("title")
    assert title is not None
    assert title.endswith(" UTC")
    hours = page.evaluate(
        "([a, b]) => (Date.parse(a + 'Z') - Date.parse(b + 'Z')) / 36e5",
        [shown.replace(" ", "T"), title.removesuffix(" UTC").replace(" ", "T")],
    )
    assert hours == 9
    assert page.get_by_text("Times are local: Asia/Tokyo").is_visible()


def test_theme_changes_at_once_and_is_kept(page: Page, served: Served) -> None:
    page.emulate_media(color_scheme="light")
    go(page, served, BASE)
    light = ground(page)
    page.get_by_role("button", name="Dark").click()
    page.locator("html[data-theme=dark]").wait_for()
    dark = ground(page)
    assert dark != light
    go(page, served, f"{BASE}/endpoints")
    assert ground(page) == dark
    assert page.get_by_role("button", name="Dark").get_attribute("aria-pressed") == "true"
    page.get_by_role("button", name="System theme").click()
    page.locator("html:not([data-theme])").wait_for()
    assert ground(page) == light


def test_theme_search_and_requests_work_without_scripts(chromium: Browser, served: Served) -> None:
    with opened(chromium, java_script_enabled=False) as page:
        sign_in_by_form(page, served)
        go(page, served, f"{BASE}/requests?status=2xx")
        page.get_by_role("button", name="Dark").click()
        assert page.locator("html[data-theme=dark]").count() == 1
        assert page.url.endswith(f"{BASE}/requests?status=2xx")
        assert page.get_by_role("button", name="Live").count() == 0
        assert page.get_by_text("Times are UTC").is_visible()
        page.get_by_role("link", name="Search").click()
        page.get_by_label("Words of a page or resource").fill("register")
        page.get_by_role("button", name="Search").click()
        page.get_by_role("link", name="POST /api/auth/register").click()
        assert page.get_by_role("heading", level=1).inner_text().endswith("/api/auth/register")


def test_fonts_are_loaded_from_the_server(page: Page, served: Served) -> None:
    go(page, served, BASE)
    families = page.evaluate(
        "document.fonts.ready.then((fonts) => [...fonts].filter((font) => font.status === 'loaded')"
        ".map((font) => font.family.replaceAll('\"', '')))"
    )
    assert sorted(families) == ["Inter Variable", "JetBrains Mono Variable"]


def test_hostile_texts_in_palette_and_live_rows_run_no_script(
    chromium: Browser, islands: Islands, tmp_path: Any
) -> None:
    from bbops.source.git import store  # noqa: PLC0415 - one test needs it

    files = {name: text.encode() for name, text in FILES.items()}
    store.init(tmp_path / "hostile", files, message=PAYLOAD)
    with Served(tmp_path / "hostile", tmp_path / "home") as served:
        served.live()
        set_up(served).close()
        with opened(chromium) as page:
            sign_in(page, served)
            go(page, served, "/projects/hostile/requests")
            served.api.post("/v1/fails", json={"a": PAYLOAD})
            served.api.get(f"/v1/{PAYLOAD}")
            page.locator(ROWS).filter(has_text="onerror").first.wait_for()
            page.keyboard.press("Control+k")
            page.get_by_role("option").first.wait_for()
            assert page.locator("dialog img").count() == 0
            page.keyboard.type("hostile")
            page.get_by_role("option").filter(has_text="hostile").first.wait_for()
            assert page.locator("bb-live img, bb-live script, dialog img").count() == 0
            assert page.evaluate("window.hacked") is None


def ground(page: Page) -> str:
    """Return the colour behind a page."""
    found: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return found


def read_requests(served: Served) -> str:
    """Return the requests that the history has."""
    return run(served, "requests", "--json").stdout
