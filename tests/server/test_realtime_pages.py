"""Pages that read topics: in a real browser, by cookie, from their own origin and from others."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import httpx
import pytest

from bbops.source.git import store
from tests.support.patience import wait_for
from tests.support.realtime import FILES, LOGIN, events, processes, say, talker
from tests.support.served import Served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FRIEND, STRANGER = "https://app.example.org", "https://evil.example"
COOKIE = (
    "session:\n  login: login\n  tokenField: token\n  cookie: { secure: false, sameSite: Lax }\n"
)
CHANNEL = (
    "name: Web\nbasePath: /web\nauthentication: None\n"
    f"cors: {{ origins: ['{FRIEND}'], credentials: true }}\n"
)
PAGES = FILES | {
    "project.yaml": FILES["project.yaml"] + COOKIE,
    "functions/login.yaml": LOGIN.replace(
        'value: "${ vars.token }"', 'value: { token: "${ vars.token }" }'
    ),
    "channels/web.yaml": CHANNEL,
}


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("talk")
    store.init(folder / "talk", {name: text.encode() for name, text in PAGES.items()}, message="a")
    with Served(folder / "talk", folder / "home") as served:
        served.live()
        yield served


@pytest.fixture(scope="module")
def cookie(talk: Served) -> str:
    """Sign in as a browser does, and return the cookie of a member of the club."""
    answer = talk.api.post("/login", json={"user": "ada"})
    assert answer.json() == {}
    talk.api.cookies.clear()
    assert talk.api.post("/members", json={"user": "ada", "room": "club"}).status_code == 204
    return answer.headers["set-cookie"].partition(";")[0]


# ---- cookies, and whose page sends them
@pytest.mark.parametrize(
    ("headers", "may"),
    [
        ({}, True), ({"origin": "own"}, True), ({"origin": FRIEND}, True),
        ({"origin": STRANGER}, False), ({"origin": "null"}, False),
        ({"origin": STRANGER, "sec-fetch-site": "cross-site"}, False),
        ({"origin": f"{FRIEND}.evil.example"}, False),
        ({"sec-fetch-site": "cross-site"}, False), ({"sec-fetch-site": "same-site"}, False),
        ({"sec-fetch-site": "same-origin"}, True),
    ],
)  # fmt: skip
def test_a_cookie_counts_for_pages_of_this_origin_and_of_those_that_a_channel_lists(
    talk: Served, cookie: str, headers: dict[str, str], may: bool
) -> None:
    own = {name: talk.serving["url"] if of == "own" else of for name, of in headers.items()}
    given = {"cookie": cookie} | own
    with talker(talk, headers=given) as ada:
        reply = ada.subscribe("members/club")
        assert ("error" not in reply) is may
        assert may or reply["error"]["code"] == 101
    with talk.api.stream("GET", "/~realtime/members/club", headers=given) as answer:
        assert answer.status_code == (200 if may else 401)


def test_a_listed_page_may_read_events_with_its_cookie(talk: Served, cookie: str) -> None:
    given = {"cookie": cookie, "origin": FRIEND}
    with events(talk, "members/club", given) as (response, _):
        assert response.headers["access-control-allow-origin"] == FRIEND
        assert response.headers["access-control-allow-credentials"] == "true"


def test_two_cookies_of_one_name_count_as_none(talk: Served, cookie: str) -> None:
    given = {"cookie": f"{cookie}; session=planted"}
    with talker(talk, headers=given) as ada:
        assert ada.subscribe("members/club")["error"]["code"] == 101


# ---- a browser
class Elsewhere(BaseHTTPRequestHandler):
    """A page of another origin."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><link rel=icon href=data:,><title>elsewhere</title>")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def elsewhere() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_address[1]}/"
        server.shutdown()


LISTEN = """topic => {
  window.got = []; window.opens = 0
  window.source = new EventSource('/~realtime/' + topic)
  source.onopen = () => window.opens += 1
  source.onmessage = one => window.got.push([JSON.parse(one.data).payload.text, one.lastEventId])
  source.addEventListener('reset', () => window.got.push(['reset', '']))
}"""
SOCKET = """url => new Promise(done => {
  const socket = new WebSocket(url)
  socket.onopen = () => {
    socket.send('{"id":1,"connect":{}}')
    socket.send('{"id":2,"subscribe":{"channel":"members/club"}}')
  }
  let all = ''
  socket.onmessage = one => {
    all += one.data
    if (all.includes('"id":2')) { socket.close(); done(all) }
  }
})"""


@contextmanager
def page_of(browser: Browser) -> Iterator[Page]:
    """Open a page in a browser of its own, which may complain about connections that are cut."""
    context = browser.new_context()
    yield context.new_page()
    context.close()


def texts(page: Page) -> list[str]:
    return [text for text, _ in page.evaluate("window.got")]


def said(served: Served, text: str) -> bool:
    """Say something, and return whether that was possible."""
    with suppress(httpx.TransportError):
        say(served, "browser", text)
        return True
    return False


@pytest.mark.browser
def test_an_event_source_goes_on_where_it_was_cut(talk: Served, chromium: Browser) -> None:
    with page_of(chromium) as page:
        page.goto(talk.serving["url"] + "/~config.json")
        page.evaluate(LISTEN, "rooms/browser")
        page.wait_for_function("window.opens == 1")
        say(talk, "browser", "1")
        page.wait_for_function("window.got.length == 1")
        (pid,) = processes(talk)
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: said(talk, "2"))
        say(talk, "browser", "3")
        page.wait_for_function("window.got.length == 3")
        assert texts(page) == ["1", "2", "3"]
        assert page.evaluate("window.opens") == 2
        last = page.evaluate("window.got")[-1][1]
        assert last.endswith(":3")
        page.evaluate("source.close()")


@pytest.mark.browser
def test_a_page_of_another_origin_is_nobody_although_the_browser_sends_the_cookie(
    talk: Served, cookie: str, chromium: Browser, elsewhere: str
) -> None:
    url = talk.serving["url"].replace("127.0.0.1", "localhost")
    name, _, value = cookie.partition("=")
    with page_of(chromium) as page:
        page.context.add_cookies([{"name": name, "value": value, "url": url}])
        page.goto(url + "/~config.json")
        socket = url.replace("http", "ws", 1) + "/~realtime"
        assert '"error"' not in page.evaluate(SOCKET, socket)
        page.goto(elsewhere)
        assert '"code":101' in page.evaluate(SOCKET, socket)
