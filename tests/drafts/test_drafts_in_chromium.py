"""Drafts in a real browser: nothing that one answers reads or changes what is live."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.draft_origin import PLATFORM, TYPES, answering
from tests.support.hostile_drafts import function, make, push
from tests.support.patience import wait_for
from tests.support.served import Served
from tests.support.several import Several

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = pytest.mark.browser

LIVE = "a secret of the live page"
SPY = """
(async () => {
  const seen = {};
  const look = async (name, what) => { try { seen[name] = await what() } catch (e) { seen[name] = null } };
  await look('cookie', () => document.cookie);
  await look('storage', () => localStorage.getItem('live'));
  await look('session', () => sessionStorage.getItem('live'));
  await look('answer', async () => (await fetch('/hello', {credentials: 'include'})).text());
  await look('xhr', () => new Promise((done, no) => {
    const asked = new XMLHttpRequest();
    asked.open('GET', '/hello'); asked.withCredentials = true;
    asked.onload = () => done(asked.responseText); asked.onerror = no; asked.send();
  }));
  await look('databases', async () => (await indexedDB.databases()).map((one) => one.name).join());
  await look('caches', async () => (await caches.keys()).join());
  await look('worker', async () => String(await navigator.serviceWorker.register('worker')));
  await look('opener', () => window.opener && window.opener.document.title);
  await look('parent', () => window.parent !== window && window.parent.document.title);
  await look('frame', () => new Promise((done, no) => {
    const frame = document.createElementNS('http://www.w3.org/1999/xhtml', 'iframe');
    frame.onload = () => { try { done(frame.contentDocument.body.innerText) } catch (e) { no(e) } };
    frame.src = '/hello'; (document.body || document.documentElement).append(frame);
  }));
  await look('written', () => { document.cookie = 'draft=was-here; path=/'; return ''; });
  (document.body || document.documentElement).setAttribute('data-seen', JSON.stringify(seen));
})()
"""  # noqa: E501
SCRIPT = SPY.replace("\n", " ").replace("&", "&amp;").replace("<", "&lt;")
PAGES = {
    "spyhtml": ("text/html", f"<!doctype html><title>d</title><body><script>{SPY}</script>"),
    "spysvg": (
        "image/svg+xml",
        f'<svg xmlns="http://www.w3.org/2000/svg"><script>{SCRIPT}</script></svg>',
    ),
    "spyxml": (
        "application/xml",
        f'<x xmlns:h="http://www.w3.org/1999/xhtml"><h:script>{SCRIPT}</h:script></x>',
    ),
    "spyxhtml": (
        "application/xhtml+xml",
        f'<html xmlns="http://www.w3.org/1999/xhtml"><body><script>{SCRIPT}</script></body></html>',
    ),
}


def page_files(name: str, media: str, text: str) -> dict[str, str]:
    steps = (
        "steps:\n  - return:\n      value: " + json.dumps(text.replace("\n", " "))
        + f"\n      contentType: {media}\n"
        + "      headers:\n        cache-control: no-store\n        service-worker-allowed: /\n"
    )  # fmt: skip
    return function(steps, name=name)


FILES: dict[str, str] = {}
for _name, (_media, _text) in PAGES.items():
    FILES |= page_files(_name, _media, _text)
FILES |= page_files("worker", "text/javascript", "self.addEventListener('fetch', () => {});")
for _kind, _media in TYPES.items():
    FILES |= answering(_kind, _media)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    box = tmp_path_factory.mktemp("origin")
    with Served(make(box / "small", page_files("live", "text/html", "<title>live</title>")),
                box / "home") as server:  # fmt: skip
        server.live()
        push(server, "hostile", FILES)
        wait_for(lambda: server.control.get("/api/projects/small/drafts").json())
        yield server


@contextmanager
def signed_in(chromium: Browser, served: Served, url: str) -> Iterator[tuple[BrowserContext, Page]]:
    """Open a browser that keeps something live, and is let into the draft."""
    context = chromium.new_context()
    try:
        page = context.new_page()
        live = served.serving["url"].replace("127.0.0.1", "localhost")
        page.goto(f"{live}/live")
        page.evaluate(
            """async (text) => {
              document.cookie = `live=${text}; path=/`;
              localStorage.setItem('live', text); sessionStorage.setItem('live', text);
              await caches.open(text);
              await new Promise((done) => { indexedDB.open(text).onsuccess = done; });
            }""",
            LIVE,
        )
        made = served.control.post("/api/projects/small/drafts/hostile/token", json={}).json()
        page.set_content(
            f"<form method=post action='{url}/~enter'><input name=token value='{made['token']}'>"
            "<button>in</button></form>"
        )
        page.get_by_role("button").click()
        page.wait_for_load_state()
        yield context, page
    finally:
        context.close()


def seen_by(page: Page) -> dict[str, Any]:
    page.wait_for_selector("[data-seen]", state="attached", timeout=10_000)
    found: dict[str, Any] = json.loads(
        page.evaluate("document.querySelector('[data-seen]').getAttribute('data-seen')")
    )
    return found


def reads_nothing_live(seen: dict[str, Any]) -> bool:
    told = json.dumps({**seen, "worker": ""})
    return LIVE not in told and "version" not in told and '"live"' not in told


def live_is_as_before(page: Page, live: str) -> None:
    page.goto(f"{live}/live")
    kept = page.evaluate("[document.cookie, localStorage.getItem('live')]")
    assert kept[0] == f"live={LIVE}"
    assert kept[1] == LIVE
    assert (
        page.evaluate("navigator.serviceWorker.getRegistrations().then((all) => all.length)") == 0
    )


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_a_draft_reads_nothing_that_is_live(
    chromium: Browser, served: Served, name: str
) -> None:
    live = served.serving["url"].replace("127.0.0.1", "localhost")
    draft = f"{live}/~drafts/hostile"
    with signed_in(chromium, served, draft) as (_, page):
        page.goto(f"{draft}/{name}")
        seen = seen_by(page)
        assert reads_nothing_live(seen), seen
        assert seen["worker"] is None
        live_is_as_before(page, live)


def test_no_header_of_a_draft_changes_what_the_browser_does_with_what_is_live(
    chromium: Browser, served: Served
) -> None:
    live = served.serving["url"].replace("127.0.0.1", "localhost")
    draft = f"{live}/~drafts/hostile"
    with signed_in(chromium, served, draft) as (_, page):
        for kind in TYPES:
            if kind == "pdf":
                continue  # is downloaded
            reply = page.goto(f"{draft}/{kind}")
            assert reply is not None
            assert reply.status == 200
            named = {name.lower() for name in PLATFORM} - {"content-security-policy"}
            assert named & {name.lower() for name in reply.headers} == set()
            page.wait_for_timeout(200)  # a refresh would have led away by now
            assert page.url == f"{draft}/{kind}"
        live_is_as_before(page, live)


def test_a_draft_on_its_own_host_reads_nothing_that_is_live(
    chromium: Browser, tmp_path: Path
) -> None:
    make(tmp_path / "small", page_files("live", "text/html", "<title>live</title>"))
    text = "drafts: { hosts: '*.preview.localhost' }\nprojects: { small: { repository: small } }\n"
    with Several(tmp_path, text) as served:
        served.repository = tmp_path / "small"
        served.until("live", "small")
        push(served, "hostile", FILES)
        wait_for(lambda: served.control.get("/api/projects/small/drafts").json())
        live = served.serving["url"].replace("127.0.0.1", "localhost")
        draft = live.replace("localhost", "hostile.preview.localhost")
        with signed_in(chromium, served, draft) as (_, page):
            for name in PAGES:
                page.goto(f"{draft}/{name}")
                seen = seen_by(page)
                assert LIVE not in json.dumps(seen), seen
            assert page.evaluate("self.origin") == draft
            live_is_as_before(page, live)
