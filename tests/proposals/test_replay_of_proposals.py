"""What a proposal's draft answers otherwise than the live API: asked for, kept, shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bbops_server.accounts.book import Book
from bbops_server.accounts.rules import Scope
from bbops_server.publish.proposals.replay import MAX_REPLAYED, sample
from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.proposing import Asking, propose
from tests.support.pushing import BAD, World
from tests.support.recorded import request
from tests.support.small_project import FILES, hello
from tests.support.terminal import Terminal

pytestmark = pytest.mark.long

MARKUP = "<b>hello</b>"
FULL = {
    "endpoints/hello.yaml": FILES["endpoints/hello.yaml"] + "history: full\n",
    "endpoints/list.yaml": FILES["endpoints/list.yaml"] + "history: full\n",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A server that was asked `/hello` twice, once signed in, and `/notes`."""
    with World(tmp_path_factory.mktemp("world")) as world:
        clone = world.clone("owner")
        clone.commit(FULL)
        assert clone.push().code == 0
        world.api.get(
            "/shop/hello", params={"q": MARKUP}, headers={"x-own": b"\xf6"}
        ).raise_for_status()
        world.api.get("/shop/hello", headers={"authorization": "Bearer s3cret"})
        world.api.get("/shop/notes").raise_for_status()
        wait_for(lambda: len(kept(world)) == 3)
        yield world


def kept(world: World) -> list[Any]:
    token = world.token("developer", scopes=[Scope.READ])
    url = f"{world.serving['control_url']}/api/projects/shop/requests?details=true"
    headers = {"authorization": f"Bearer {token}"}
    found = httpx.get(url, headers=headers, timeout=PATIENCE_SECONDS).json()
    return [one for one in found if one["exchange"]]


def test_a_proposal_tells_which_answers_would_change(world: World) -> None:
    clone = world.clone("developer")
    head = clone.commit(FULL | hello(7))
    number, asking = propose(clone, "seven"), Asking(world, "developer")
    assert asking.get(number)["replayed"] is None
    done = asking.post(f"/{number}/replay")
    assert done.status_code == 200, done.text
    found = done.json()
    assert (found["head"], found["asked"], found["left"]) == (head, 2, 1)
    (changed,) = found["changed"]
    assert (changed["route"], changed["before"], changed["now"]) == ("/hello", 200, 200)
    assert changed["places"] == [{"at": "/version", "before": "1", "now": "7"}]
    assert asking.get(number)["replayed"] == found
    terminal = Terminal(world, "developer", clone)
    shown = terminal.run("proposals", "show", str(number)).text
    assert "    /version: 1 → 7\n1 of 2 responses would change\n1 skipped: " in shown
    told = json.loads(terminal.run("proposals", "replay", str(number), "--json").text)
    assert told["changed"] == found["changed"]
    assert asking.get(number)["obstacles"] == []
    clone.commit(FULL | hello(8))
    assert propose(clone, "seven") == number
    assert asking.get(number)["replayed"] is None  # it was of another commit


def test_a_replay_of_a_project_that_keeps_nothing_names_the_setting(tmp_path: Path) -> None:
    with World(tmp_path) as world:
        clone = world.clone("developer")
        clone.commit(hello(7))
        number = propose(clone, "seven")
        told = Terminal(world, "developer", clone).run("proposals", "replay", str(number)).text
        assert told.startswith("nothing to replay: ")
        assert "hint: write 'history: full' in an endpoint's file" in told
        headers = Asking(world, "developer").headers
        url = f"{world.serving['control_url']}/projects/shop/proposals/{number}"
        page = httpx.get(url, headers=headers, timeout=PATIENCE_SECONDS)
        assert "Write <code>history: full</code>" in page.text


def test_the_page_tells_it_and_escapes_what_was_answered(world: World) -> None:
    clone = world.clone("developer")
    marked = FILES["functions/hello.yaml"].replace(
        "version: 1", f"version: '{MARKUP}', token: s3cret"
    )
    clone.commit(FULL | {"functions/hello.yaml": marked})
    number, asking = propose(clone, "marked"), Asking(world, "developer")
    url = f"{world.serving['control_url']}/projects/shop/proposals/{number}"
    with httpx.Client(headers=asking.headers, timeout=60, follow_redirects=True) as browser:
        assert ">Replay<" in browser.get(url).text
        page = browser.post(f"{url}/replay").text
        headers = Asking(world, "viewer").headers
        viewed = httpx.get(url, headers=headers, timeout=PATIENCE_SECONDS).text
    assert "1 of 2 responses would change" in page
    assert "/version: 1 → &lt;b&gt;hello&lt;/b&gt;" in page
    assert MARKUP not in page
    assert "/token: (nothing) → ***" in page
    assert "would change" not in viewed
    assert ">Replay" not in viewed


def test_a_token_that_reads_starts_no_work(world: World) -> None:
    clone = world.clone("developer")
    clone.commit(FULL | hello(10))
    number = propose(clone, "ten")
    token = world.token("developer", scopes=[Scope.READ])
    path = f"/api/projects/shop/proposals/{number}"
    with httpx.Client(
        base_url=world.serving["control_url"],
        headers={"authorization": f"Bearer {token}"},
        timeout=PATIENCE_SECONDS,
    ) as reader:
        refused = reader.post(f"{path}/replay")
        assert (refused.status_code, "the scope required is 'deploy'" in refused.text) == (
            403,
            True,
        )
        assert Asking(world, "developer").post(f"/{number}/replay").status_code == 200
        assert reader.get(path).json()["replayed"]["asked"] == 2


def test_who_may_not_read_requests_sees_nothing_of_them(world: World) -> None:
    clone = world.clone("developer")
    clone.commit(FULL | hello(9))
    number = propose(clone, "nine")
    assert Asking(world, "viewer").post(f"/{number}/replay").status_code == 403
    assert Asking(world, "developer").post(f"/{number}/replay").status_code == 200
    assert Asking(world, "developer").get(number)["replayed"]["asked"] == 2
    assert Asking(world, "viewer").get(number)["replayed"] is None


def test_a_draft_that_does_not_work_is_not_asked(world: World) -> None:
    clone = world.clone("developer")
    clone.commit(FULL | BAD)
    done = Asking(world, "developer").post(f"/{propose(clone, 'broken')}/replay")
    assert (done.status_code, "the draft does not work" in done.text) == (409, True), done.text


# ---- what is asked
def test_the_newest_of_each_route_and_status_is_asked() -> None:
    every = [
        request("/a/1", route="/a/{id}"), request("/a/2", route="/a/{id}"),
        request("/a/3", route="/a/{id}", status=404), request("/p", "POST", route="/p"),
        request("/h", "HEAD", route="/h"),
    ]  # fmt: skip
    assert [one.target for one in sample(every)] == ["/a/3", "/a/2"]


def test_not_all_of_many_are_asked() -> None:
    every = [request(f"/{number}", route=f"/{number}") for number in range(MAX_REPLAYED + 9)]
    found = sample(every)
    assert (len(found), found[0].target) == (MAX_REPLAYED, f"/{MAX_REPLAYED + 8}")


def test_what_is_kept_of_a_head_is_kept_once(tmp_path: Path) -> None:
    book = Book.open(tmp_path)
    for found in ("1", "2"):
        book.proposals.keep_replay("shop", 7, "a" * 40, found)
    assert book.proposals.replay("shop", 7, "a" * 40) == "2"
    assert book.proposals.replay("shop", 7, "b" * 40) is None
    book.close()
