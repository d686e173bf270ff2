"""A real browser on a page of another origin uses the template's notes, by each method."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.empty_pages import pages
from tests.support.served import ADA, Served, make_project

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

FETCH = """
async ([method, url, body, token]) => {
  const headers = { 'content-type': 'application/json', 'x-mine': '1' };
  if (token) headers.authorization = `Bearer ${token}`;
  const answer = await fetch(url, { method, headers, body: body && JSON.stringify(body) });
  const text = await answer.text();
  return [answer.status, text ? JSON.parse(text) : null];
}
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("cors")
    with Served(make_project(folder / "notes"), folder / "home") as server:
        server.live()
        yield server


@contextmanager
def page_of_another_origin(browser: Browser) -> Iterator[Any]:
    with pages() as port, browser.new_context() as context:
        page = context.new_page()
        page.goto(f"http://localhost:{port}")
        yield page


def test_a_page_of_another_origin_posts_reads_patches_and_deletes(
    served: Served, chromium: Browser
) -> None:
    with page_of_another_origin(chromium) as page:
        token = ""

        def ask(method: str, path: str, body: Any = None) -> Any:
            return page.evaluate(FETCH, [method, f"{served.serving['url']}/api{path}", body, token])

        status, body = ask("POST", "/auth/register", ADA)
        assert status == 201
        token = body["token"]
        status, note = ask("POST", "/v1/notes", {"title": "One", "body": "Text"})
        assert status == 201
        path = f"/v1/notes/{note['id']}"
        assert ask("GET", path)[0] == 200
        assert ask("PATCH", path, {"title": "Two"})[1]["title"] == "Two"
        assert ask("DELETE", path)[0] in {200, 204}
        assert ask("GET", path)[0] == 404


def test_the_page_reads_why_a_request_was_refused(served: Served, chromium: Browser) -> None:
    with page_of_another_origin(chromium) as page:
        url = f"{served.serving['url']}/api/v1"
        assert page.evaluate(FETCH, ["GET", f"{url}/notes", None, ""])[0] == 401
        assert page.evaluate(FETCH, ["PUT", f"{url}/nothing", {}, ""])[0] == 404
