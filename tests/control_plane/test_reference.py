"""The API of a project on the control plane: a viewer that trusts nothing, and its prose."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from bbops_server.control_plane.projects.reference import VERSION, render_prose
from bbops_server.control_plane.web.view import VENDOR
from tests.support.browser import DESK, PHONE, find_faults, opened
from tests.support.served import Served, git, make_project, wait_for

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FrameLocator, Page

MEAN = "</script><img src=x onerror=alert(1)><script>alert(2)</script>"


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
    git(project, "add", "-A")
    git(project, "commit", "-qm", "Describe")
    with Served(project, folder / "home") as server:
        server.live()
        yield server


def test_what_is_vendored_is_what_was_published() -> None:
    told = (VENDOR / "README.md").read_text()
    assert hashlib.sha256((VENDOR / "rapidoc-min.js").read_bytes()).hexdigest() in told
    assert f"| {VERSION} |" in told


def test_the_viewer_has_no_session_and_no_way_to_the_server(server: Served) -> None:
    answer = server.control.get("/projects/sample/reference/view")
    policy = answer.headers["content-security-policy"]
    assert "sandbox allow-scripts allow-popups" in policy
    assert "allow-same-origin" not in policy
    assert f"connect-src {server.serving['url']};" in policy
    assert answer.headers["x-frame-options"] == "SAMEORIGIN"
    assert answer.text.count("<script") == 3
    assert "onerror" in answer.text
    assert "<img" not in answer.text
    frame = server.control.get("/projects/sample/reference", headers={"accept": "text/html"})
    assert "frame-src 'self'" in frame.headers["content-security-policy"]
    assert "script-src" not in frame.headers["content-security-policy"]


def test_the_viewer_is_sent_packed_and_kept(server: Served) -> None:
    answer = server.control.get("/vendor/rapidoc-min.js")
    assert answer.headers["content-encoding"] == "gzip"
    assert "immutable" in answer.headers["cache-control"]
    assert answer.content == (VENDOR / "rapidoc-min.js").read_bytes()
    plain = server.control.get("/vendor/rapidoc-min.js", headers={"accept-encoding": "identity"})
    assert plain.content == answer.content


def test_prose_is_a_page_without_html_of_its_own(server: Served) -> None:
    page = server.control.get("/projects/sample/pages?name=first-steps")
    assert "<h1>First steps</h1>" in page.text
    assert "<strong>this</strong>" in page.text
    assert "&lt;img src=x" in page.text
    assert server.control.get("/projects/sample/pages?name=none").status_code == 404
    text = render_prose("[a](javascript:alert(1)) ![b](https://x.example/b.png) <b>c</b>")
    assert '<a href="javascript' not in text
    assert "<img" not in text
    assert "<b>" not in text


# ---- in Chromium
def view(page: Page, server: Served, path: str = "/projects/sample/reference") -> FrameLocator:
    page.goto(server.serving["control_url"] + path)
    frame = page.frame_locator("iframe")
    frame.get_by_text("Accounts and notes.").first.wait_for(timeout=15_000)
    return frame


@pytest.mark.browser
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_reference_is_read_in_a_browser(
    chromium: Browser, server: Served, size: dict[str, int], scheme: str
) -> None:
    with opened(chromium, viewport=size, color_scheme=scheme) as page:
        frame = view(page, server)
        if size == DESK:
            frame.locator("[id='link-get-/api/v1/notes']").click()
            assert frame.get_by_text("/api/v1/notes").first.is_visible()
        assert find_faults(page) == []
        page.go_back()


@pytest.mark.browser
def test_an_operation_is_tried_against_what_is_live(chromium: Browser, server: Served) -> None:
    context = chromium.new_context(viewport=DESK)
    page = context.new_page()  # the browser complains of what is refused, as it should
    frame = view(page, server)
    frame.locator("[id='link-get-/api/v1/notes']").click()
    with page.expect_response(lambda one: "/api/v1/notes" in one.url) as tried:
        frame.locator("[id='get-/api/v1/notes']").get_by_role("button", name="TRY").click()
    assert tried.value.status == 401
    context.close()


@pytest.mark.browser
def test_the_api_of_a_draft_is_read_too(chromium: Browser, server: Served) -> None:
    git(server.repository, "branch", "-f", "topic")
    wait_for(lambda: server.control.get("/api/projects/sample/drafts").json())
    with opened(chromium) as page:
        frame = view(page, server, "/projects/sample/drafts/topic/reference")
        assert not frame.get_by_role("button", name="TRY").count()
