"""The address of a draft shows people what is there, or the way in."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from bbops_server.data_plane.pages.start_page import MOST_ROUTES, render
from bbops_server.process.messages.projects import StartPageTexts
from tests.support.hostile_drafts import enter, make, push
from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.served import Served
from tests.support.small_project import hello

pytestmark = pytest.mark.long

HTML = {"accept": "text/html"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    box = tmp_path_factory.mktemp("start")
    with Served(make(box / "small"), box / "home") as server:
        server.live()
        yield server


def test_a_draft_says_which_it_is_and_what_answers(served: Served) -> None:
    commit = push(served, "Prices/<b>new", hello(7))
    with enter(served, "Prices/<b>new") as client:
        answer = client.get("", headers=HTML, follow_redirects=True)
        hello_there = client.get(answer.url.join("./hello"))
    assert hello_there.json()["version"] == 7
    assert answer.status_code == 200, answer.text
    assert "<h1>Draft Prices/&lt;b&gt;new of small</h1>" in answer.text
    assert commit[:12] in answer.text
    assert '<a href="./hello">' in answer.text
    assert "<code>POST</code> <code>/notes</code>" in answer.text
    url = f"{served.serving['control_url']}/projects/small/drafts/prices-b-new-"
    assert f'<a href="{url}' in answer.text
    reference = answer.text.partition(f'<a href="{url}')[2].partition('"')[0]
    assert served.control.get(f"{url}{reference}", headers=HTML).status_code == 200
    policies = answer.headers.get_list("content-security-policy")
    assert [one.partition(" ")[0] for one in policies] == ["sandbox"]
    assert 'http-equiv="Content-Security-Policy" content="default-src &#x27;none' in answer.text


def test_programs_are_answered_as_ever(served: Served) -> None:
    push(served, "programs", hello(8))
    with enter(served, "programs") as client:
        for path, headers in (("", {}), ("nothing", HTML)):
            answer = client.get(path, headers=headers, follow_redirects=True)
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "notFound")


def test_who_has_no_token_is_shown_the_way_in_and_no_branch(served: Served) -> None:
    push(served, "Closed", hello(9))
    with enter(served, "Closed") as client:
        url = client.base_url
    answer = httpx.get(url, headers=HTML, timeout=PATIENCE_SECONDS)
    assert answer.status_code == 401
    assert f'<a href="{served.serving["control_url"]}">' in answer.text
    assert "Closed" not in answer.text
    assert "x-draft" not in answer.headers
    assert answer.headers["content-security-policy"].startswith("sandbox")
    assert httpx.get(url, timeout=PATIENCE_SECONDS).json()["error"]["code"] == "draftClosed"


def test_a_draft_with_a_mistake_shows_it(served: Served) -> None:
    push(served, "wrong", {"functions/hello.yaml": "steps: [{ retrun: 1 }]\n"})
    with enter(served, "wrong") as client:
        answer = wait_for(lambda: client.get("", headers=HTML))
        assert answer.status_code == 503
        assert "Draft wrong does not answer" in answer.text
        assert "functions/hello.yaml:1:" in answer.text
        assert "did you mean &#x27;return&#x27;?" in answer.text
        page = f"{served.serving['control_url']}/projects/small/drafts#wrong"
        assert f'<a href="{page}">' in answer.text
        assert client.get("").json()["error"]["code"] == "projectInvalid"


def test_of_many_routes_the_first_are_shown() -> None:
    routes = [("GET", f"/a/{number:02}") for number in range(MOST_ROUTES + 3)]
    page = render(StartPageTexts("shop", "abc", "", "http://c/r", "http://c"), routes)
    assert page.count("<li>") == MOST_ROUTES
    assert "3 more in the API reference." in page


def test_a_path_leads_nowhere_else() -> None:
    page = render(StartPageTexts("x", "", "", "", ""), [("GET", "//evil.example/\"'<b>")])
    assert 'href=".//evil.example/%22%27%3Cb%3E"' in page
