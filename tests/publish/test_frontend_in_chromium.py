"""A frontend in a real browser: live, while a publication replaces it, and as a draft."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.browser import opened
from tests.support.frontend import commit, make
from tests.support.patience import wait_for
from tests.support.served import Served, git

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Shop</title>'
    '<link rel="icon" href="data:,"><link rel="stylesheet" href="./assets/style-Aa1Bb2Cc.css">'
    '<script type="module" crossorigin src="./assets/main-BwqKXYh3.js"></script></head>'
    "<body><h1>waiting</h1><button>More</button></body></html>"
)
MAIN = """
const config = await (await fetch('./~config.json')).json();
const {text} = await (await fetch('./hello')).json();
document.querySelector('h1').textContent = `${config.project} says ${text}`;
document.querySelector('button').onclick = async () => {
  const {more} = await import('./more-Zz9Yy8Xx.js');
  document.querySelector('h1').textContent = more;
};
"""
BUILT = {
    "frontend/dist/index.html": PAGE,
    "frontend/dist/assets/main-BwqKXYh3.js": MAIN,
    "frontend/dist/assets/more-Zz9Yy8Xx.js": "export const more = 'the old chunk'\n",
    "frontend/dist/assets/style-Aa1Bb2Cc.css": "h1 { color: rgb(1, 2, 3) }\n",
}
COLOR = "getComputedStyle(document.querySelector('h1')).color"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with Served(make(tmp_path / "small", BUILT), tmp_path / "home") as server:
        server.live()
        yield server


def says(page: Page, text: str) -> None:
    page.get_by_role("heading", name=text).wait_for(timeout=10_000)


def test_an_open_page_finds_its_chunks_after_a_publication(
    chromium: Browser, server: Served
) -> None:
    with opened(chromium) as page:
        page.goto(f"{server.serving['url']}/")
        says(page, "small says hello")
        assert page.evaluate(COLOR) == "rgb(1, 2, 3)"
        (server.repository / "frontend/dist/assets/more-Zz9Yy8Xx.js").unlink()
        commit(server, {"frontend/dist/assets/more-Qq7Ww6Ee.js": "export const more = 'new'\n"})
        server.live()
        page.get_by_role("button", name="More").click()
        says(page, "the old chunk")


def test_a_draft_shows_its_own_and_asks_its_own_api(chromium: Browser, server: Served) -> None:
    git(server.repository, "switch", "-qc", "topic")
    commit(server, {
        "functions/hello.yaml": "steps:\n  - return: { value: { text: from the draft } }\n"
    })  # fmt: skip
    git(server.repository, "switch", "-q", "main")
    wait_for(lambda: server.control.get("/api/projects/small/drafts").json())
    with opened(chromium) as page:
        page.goto(f"{server.serving['control_url']}/projects/small/drafts")
        page.get_by_role("button", name="Open topic").click()
        says(page, "small says from the draft")
        assert page.evaluate(COLOR) == "rgb(1, 2, 3)"
        assert page.evaluate("self.origin") == "null"
        page.get_by_role("button", name="More").click()
        says(page, "the old chunk")
        page.goto(f"{server.serving['url']}/")
        says(page, "small says hello")
