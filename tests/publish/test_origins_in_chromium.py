"""A real browser, and pages of three origins: what cookies let each of them do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bbops.source.git import store
from tests.support.empty_pages import pages
from tests.support.served import Served
from tests.support.session_project import project

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

ASK = """
async ([method, path, body, headers]) => {
  headers = { 'content-type': 'application/json', ...headers };
  const answer = await fetch(path, { method, body, headers, credentials: 'include' });
  return [answer.status, await answer.text(), answer.headers.get('x-csrf')];
}
"""
FORM = """
([action]) => {
  document.body.innerHTML = `<form method=post enctype=text/plain action=${action}>` +
    `<input name='{"user": "eve", "a": "' value='"}'></form>`;
  document.forms[0].submit();
}
"""
MARK = "() => document.cookie.match(/csrf=([^;]*)/)?.[1] ?? null"


@pytest.fixture(scope="module")
def world(
    tmp_path_factory: pytest.TempPathFactory, chromium: Browser
) -> Iterator[tuple[str, str, str, Any]]:
    """Serve a project; yield its address, a listed origin, another site, and a browser."""
    folder: Path = tmp_path_factory.mktemp("browser")
    with pages() as port:
        listed, other = f"http://127.0.0.1:{port}", f"http://localhost:{port}"
        files = project()
        files["channels/web.yaml"] = files["channels/web.yaml"].replace(
            "https://app.example.org", listed
        )
        files["project.yaml"] = files["project.yaml"].replace("secret: true", "generate: true")
        made = {name: text.encode() for name, text in files.items()}
        store.init(folder / "shop", made, message="Start")
        with Served(folder / "shop", folder / "home") as served:
            served.live()
            yield served.serving["url"], listed, other, chromium


def test_a_page_of_a_listed_origin_signs_in_changes_refreshes_and_signs_out(
    world: tuple[str, str, str, Any],
) -> None:
    url, listed, _, browser = world
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(listed)

        def ask(method: str, path: str, mark: str = "", body: str | None = None) -> Any:
            headers = {"x-csrf": mark} if mark else {}
            return page.evaluate(ASK, [method, f"{url}/api/{path}", body, headers])

        status, body, mark = ask("POST", "login", body='{"user": "ada"}')
        assert (status, body) == (200, '{"hello":"ada"}')
        assert page.evaluate(MARK) == mark  # one host, whatever the port
        assert "session=" not in page.evaluate("() => document.cookie")
        assert ask("GET", "me")[:2] == [200, '"ada"']
        assert ask("POST", "change")[0] == 403
        assert ask("POST", "change", mark)[0] == 200
        assert ask("DELETE", "change", mark)[0] == 200
        status, _, renewed = ask("POST", "refresh", mark)
        assert status == 200
        assert renewed not in {mark, None}
        assert ask("POST", "change", renewed)[0] == 200
        sent = {one["name"] for one in context.cookies(f"{url}/api/me")}
        assert sent == {"session", "csrf"}
        assert ask("POST", "logout", renewed)[0] == 204
        assert context.cookies() == []
        assert ask("GET", "me")[0] == 401


def test_a_page_of_another_site_can_do_nothing(world: tuple[str, str, str, Any]) -> None:
    from playwright.sync_api import Error  # noqa: PLC0415 - heavy, and few tests need it

    url, listed, other, browser = world
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(listed)
        page.evaluate(ASK, ["POST", f"{url}/api/login", '{"user": "ada"}', {}])
        before = sorted(one["value"] for one in context.cookies())
        page.goto(other)
        with pytest.raises(Error, match="Failed to fetch"):
            page.evaluate(ASK, ["POST", f"{url}/api/change", None, {}])
        for path in ("login", "change", "refresh", "logout"):
            page.goto(other)
            with page.expect_navigation() as found:
                page.evaluate(FORM, [f"{url}/api/{path}"])
            assert found.value.status in {401, 403}, path
        assert sorted(one["value"] for one in context.cookies()) == before
        page.goto(f"{url}/api/me")  # a link is followed with the cookie, and changes nothing
        assert page.inner_text("body") == '"ada"'
