"""The API of a project on the control plane: one page without scripts, and the pages of `docs/`."""

from __future__ import annotations

import html
import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import httpx
import pytest

from bbops_server.control_plane.projects.reference import render_prose
from tests.support.browser import DESK, PHONE, find_faults, opened
from tests.support.islands import without_islands
from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.served import Served, git, make_project

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MEAN = "</script><img src=x onerror=alert(1)><script>alert(2)</script>"

TOPIC = (
    f"description: '{MEAN}'\ntopic: teams/:team/board\nauthentication: JWT\n"
    "events: { note.added: { title: string } }\nhistory: { size: 9, for: 5m }\n"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The template, whose words are mean."""
    folder = tmp_path_factory.mktemp("reference")
    project = make_project(folder / "sample")
    (project / "docs").mkdir()
    (project / "docs/first-steps.md").write_text(f"# First steps\n\nRead **this**.\n\n{MEAN}\n")
    path = project / "endpoints/notes/list.yaml"
    path.write_text(
        re.sub("description: .*", f"description: 'All notes. {MEAN}'", path.read_text())
    )
    (project / "realtime").mkdir()
    (project / "realtime/board.yaml").write_text(TOPIC)
    git(project, "add", "-A")
    git(project, "commit", "-qm", "Describe")
    with Served(project, folder / "home") as server:
        server.live()
        yield server


def test_the_reference_shows_every_operation_without_a_script(server: Served) -> None:
    page = server.control.get("/projects/sample/reference", headers={"accept": "text/html"})
    contract = server.control.get("/api/projects/sample/contract?format=json").json()
    assert len(contract["operations"]) > 5
    for one in contract["operations"]:
        assert page.text.count(f'id="op-{one["id"]}"') == 1
        assert page.text.count(f'href="#op-{one["id"]}"') == 2
    for name in contract["shapes"]:
        assert page.text.count(f'id="shape-{name.lower()}"') == 1
    assert set(re.findall(r'href="(#shape-[^"]+)"', page.text)) <= {
        f"#shape-{name.lower()}" for name in contract["shapes"]
    }
    assert "<script" not in without_islands(page.text)
    assert "default-src 'none'" in page.headers["content-security-policy"]


def test_the_reference_shows_topics_with_their_messages(server: Served) -> None:
    page = server.control.get("/projects/sample/reference", headers={"accept": "text/html"}).text
    (found,) = re.findall(
        r'<section class="card operation" id="topic-board".*?</section>', page, re.DOTALL
    )
    for text in ("teams/{team}/board", "who is signed in", "9 messages", "note.added", "title"):
        assert text in found
    document = server.control.get("/api/projects/sample/contract?format=asyncapi").json()
    assert document["channels"]["board"]["address"] == "teams/{team}/board"


def test_the_words_of_a_project_are_escaped(server: Served) -> None:
    page = server.control.get("/projects/sample/reference", headers={"accept": "text/html"})
    assert "onerror" in page.text
    assert "<img src=x" not in page.text


def test_a_command_of_the_reference_works_when_it_is_pasted(server: Served) -> None:
    page = server.control.get("/projects/sample/reference", headers={"accept": "text/html"})
    commands = [
        html.unescape(one)
        for one in re.findall(r"<pre[^>]*>(curl .*?)</pre>", page.text, re.DOTALL)
    ]
    assert commands
    asked = [asking(one) for one in commands]
    assert {"GET", "POST"} <= {method for method, _, _ in asked}
    for method, url, headers in asked:
        assert url.startswith(server.serving["url"])
        answer = httpx.request(method, url, headers=headers, timeout=PATIENCE_SECONDS)
        assert answer.status_code != 404


def asking(command: str) -> tuple[str, str, dict[str, str]]:
    """Return the method, address and headers of a curl command, as a shell reads it."""
    words = shlex.split(command)
    pairs = [after.split(": ", 1) for word, after in pairwise(words) if word == "-H"]
    method = next((after for word, after in pairwise(words) if word == "-X"), "GET")
    return method, next(one for one in words if one.startswith("http")), dict(pairs)


def test_prose_is_a_page_without_html_of_its_own(server: Served) -> None:
    page = server.control.get("/projects/sample/pages?name=first-steps")
    assert "<h2>First steps</h2>" in page.text
    assert "<strong>this</strong>" in page.text
    assert "&lt;img src=x" in page.text
    assert server.control.get("/projects/sample/pages?name=none").status_code == 404
    text = render_prose("[a](javascript:alert(1)) ![b](https://x.example/b.png) <b>c</b>")
    assert '<a href="javascript' not in text
    assert "<img" not in text
    assert "<b>" not in text


# ---- in Chromium
@pytest.mark.browser
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_reference_is_read_in_a_browser(
    chromium: Browser, server: Served, size: dict[str, int], scheme: str
) -> None:
    with opened(chromium, viewport=size, color_scheme=scheme) as page:
        page.goto(server.serving["control_url"] + "/projects/sample/reference")
        page.get_by_role("navigation", name="Endpoints").get_by_text("/api/v1/notes").first.click()
        assert page.url.endswith("#op-notes.list")
        shown = page.get_by_role("region", name="GET /api/v1/notes", exact=True)
        assert shown.get_by_text("curl").is_visible()
        assert find_faults(page) == []


@pytest.mark.browser
def test_the_api_of_a_draft_is_read_too(chromium: Browser, server: Served) -> None:
    git(server.repository, "branch", "-f", "topic")
    wait_for(lambda: server.control.get("/api/projects/sample/drafts").json())
    with opened(chromium) as page:
        page.goto(server.serving["control_url"] + "/projects/sample/drafts/topic/reference")
        assert page.get_by_text("This is the draft topic.").is_visible()
        assert page.get_by_role("region", name="GET /api/v1/notes", exact=True).is_visible()
