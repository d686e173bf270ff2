"""A proposal that was merged or closed still says what it did: its plan, its tests, its diff."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bbops_server.accounts.book import Book
from bbops_server.accounts.people import NewPerson
from bbops_server.accounts.rules import Role
from bbops_server.publish.proposals.local import MAX_DIFF_BYTES
from tests.support.patience import wait_for
from tests.support.served import LIST, Served, git, make_project

pytestmark = pytest.mark.long


class Shop:
    """A repository with a proposal now and then, and the server that follows it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.repository = folder, make_project(folder / "sample")
        self.state = self.repository / ".bbops/state"
        self.server = self._start()

    def _start(self) -> Served:
        server = Served(self.repository, self.folder / "home")
        server.live()
        return server

    def restart(self) -> None:
        """Put another server in the place of this one."""
        assert self.server.stop() == 0
        self.server = self._start()

    def ask(self, path: str, method: str = "GET", **body: Any) -> Any:
        """Return what the API of proposals answers to this machine's user."""
        key = json.loads((self.state / "control.json").read_text())["token"]
        answer = self.server.control.request(
            method, f"/api/projects/sample/proposals{path}", json=body or None, timeout=60,
            headers={"authorization": f"Bearer {key}"},
        )  # fmt: skip
        assert answer.is_success, answer.text
        return answer.json()

    def commit(self, branch: str, word: str) -> None:
        """Commit to a new branch that the list of notes has one more field."""
        git(self.repository, "checkout", "-qb", branch, "main")
        self.server.edit(LIST, "        page:", f"        {word}: 1\n        page:")
        self.server.commit(f"Tell {word}")
        git(self.repository, "checkout", "-q", "main")

    def propose(self, branch: str, word: str) -> int:
        self.commit(branch, word)
        return int(self.ask("", "POST", branch=branch)["number"])

    def wait_for_tests(self, number: int) -> dict[str, Any]:
        """Return a proposal once its tests are over."""

        def find() -> Any:
            found = self.ask(f"/{number}")
            return found if found["tests"]["state"] != "running" else None

        found: dict[str, Any] = wait_for(find)
        return found

    def merge(self, number: int) -> None:
        self.ask(f"/{number}/merge", "POST", head="")
        self.server.live()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    shop = Shop(tmp_path_factory.mktemp("shop"))
    yield shop
    shop.server.stop()


KEPT = ("plan", "text", "tests", "diff", "digest", "diagnostics")


def test_what_was_merged_is_shown_as_before_also_by_another_server(shop: Shop) -> None:
    number = shop.propose("first", "colour")
    before = shop.wait_for_tests(number)
    assert "+        colour: 1" in before["diff"]
    assert [one["endpoint"] for one in before["plan"]["plan"]["routes"]] == ["notes/list"]
    assert before["tests"]["passed"] > 0
    shop.merge(number)
    git(shop.repository, "branch", "-D", "first")
    git(shop.repository, "reflog", "expire", "--expire=now", "--all")
    git(shop.repository, "gc", "-q", "--prune=now")
    shop.restart()
    after = shop.ask(f"/{number}")
    assert {name: after[name] for name in KEPT} == {name: before[name] for name in KEPT}
    assert (after["proposal"]["state"], after["obstacles"]) == ("merged", ["it is merged"])
    assert after["summary"].endswith("; it is merged")


def test_the_command_and_the_page_show_it(shop: Shop) -> None:
    number = shop.propose("second", "size")
    shop.wait_for_tests(number)
    shop.merge(number)
    shown = shop.server.bbops("proposals", "show", str(number), "--diff").stdout
    for one in ("\nmerged, by local for main", "\nits tests pass: ", "\n+        size: 1\n"):
        assert one in shown
    assert "can be merged" not in shown
    assert "size: 1" not in shop.server.bbops("proposals", "show", str(number)).stdout
    page = show_page(shop, number)
    assert "Merged changes" in page
    assert "Its tests pass: " in page
    assert '<span class="add">+        size: 1</span>' in page


def show_page(shop: Shop, number: int) -> str:
    """Return the page of a proposal, as somebody with an account sees it."""
    book = Book.open(shop.state)
    try:
        ada = book.people.add(NewPerson("ada@example.com", "Ada", role=Role.VIEWER))
        key = book.sessions.begin(ada.id, user_agent="", address="")
    finally:
        book.close()
    answer = shop.server.control.get(
        f"/projects/sample/proposals/{number}", headers={"cookie": f"bbops={key}"}
    )
    assert answer.status_code == 200, answer.text
    return answer.text


def test_tests_that_run_while_it_is_merged_are_told_when_they_are_over(shop: Shop) -> None:
    number = shop.propose("third", "weight")
    shop.merge(number)
    assert shop.wait_for_tests(number)["tests"]["state"] == "passed"
    shop.restart()
    assert shop.ask(f"/{number}")["tests"]["state"] == "passed"


def test_what_was_merged_by_a_push_says_what_it_did(shop: Shop) -> None:
    number = shop.propose("fourth", "height")
    before = shop.wait_for_tests(number)
    git(shop.repository, "merge", "-q", "--ff-only", "fourth")
    shop.server.live()
    after = shop.ask(f"/{number}")
    assert after["proposal"]["state"] == "merged"
    assert {name: after[name] for name in KEPT} == {name: before[name] for name in KEPT}


def test_what_was_closed_says_what_it_would_have_done(shop: Shop) -> None:
    number = shop.propose("fifth", "width")
    before = shop.wait_for_tests(number)
    shop.ask(f"/{number}/close", "POST")
    git(shop.repository, "branch", "-D", "fifth")
    after = shop.ask(f"/{number}")
    assert {name: after[name] for name in KEPT} == {name: before[name] for name in KEPT}


def test_a_long_difference_is_cut(shop: Shop) -> None:
    git(shop.repository, "checkout", "-qb", "long", "main")
    (shop.repository / "README.md").write_text("ä line of a long text\n" * 40_000)
    shop.server.commit("Write much")
    git(shop.repository, "checkout", "-q", "main")
    found = shop.ask(f"/{shop.ask('', 'POST', branch='long')['number']}")
    assert found["diff"].endswith("\n… cut at 256 kB, git has the rest\n")
    assert len(found["diff"].encode()) <= MAX_DIFF_BYTES + 100
