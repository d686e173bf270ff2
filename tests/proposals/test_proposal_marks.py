"""A proposal may be not ready, and may ask people for a review."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import httpx
import psycopg
import pytest

from bbops.database.schema.place import PostgresPlace
from bbops.source.git.proposals import Wish
from bbops_server.accounts.book import Book
from bbops_server.accounts.people import NewPerson
from bbops_server.accounts.rules import Role
from bbops_server.accounts.text_rules import AccountError
from tests.support.patience import PATIENCE_SECONDS
from tests.support.proposal_rules import WISH, book
from tests.support.proposing import Asking, propose, world
from tests.support.pushing import World

pytestmark = pytest.mark.long

__all__ = ["book", "world"]

BOB, EVE = "bob@example.com", "Eve@example.com"


@pytest.fixture
def members(book: Book) -> Book:
    """Return a book with an owner, two developers of 'shop', and somebody who only looks."""
    book.people.add(NewPerson("owner@example.com", "owner", role=Role.OWNER))
    every = (BOB, Role.DEVELOPER), (EVE, Role.DEVELOPER), ("vi@example.com", Role.VIEWER)
    for email, role in every:
        person = book.people.add(NewPerson(email, "somebody", role=None))
        book.members.set_role(person.id, role, "shop")
    return book


def asking(*reviewers: str, ready: bool | None = None) -> Wish:
    return replace(WISH, reviewers=reviewers, ready=ready)


# ---- its records
def test_marks_are_kept_and_what_is_not_said_stays(members: Book) -> None:
    kept = members.proposals
    made = kept.add("shop", asking(BOB, "eve@example.com", ready=False))
    assert (made.ready, made.reviewers) == (False, (BOB, EVE))
    assert kept.change("shop", 1, title="Carts").reviewers == (BOB, EVE)
    changed = kept.change("shop", 1, ready=True, reviewers=[])
    assert (changed.ready, changed.reviewers) == (True, ())
    assert kept.list("shop", "open") == [changed]


@pytest.mark.parametrize(
    "who", ["vi@example.com", "nobody@example.com", WISH.author.upper(), "no address"]
)
def test_only_another_member_who_may_review_is_asked(members: Book, who: str) -> None:
    with pytest.raises(AccountError, match="cannot review this proposal of 'shop'"):
        members.proposals.add("shop", asking(BOB, who))
    assert members.proposals.list("shop", None) == []


def test_whoever_may_review_one_project_is_not_asked_in_another(members: Book) -> None:
    with pytest.raises(AccountError, match="of 'blog'"):
        members.proposals.add("blog", asking(EVE))


def test_not_everybody_is_asked(members: Book) -> None:
    with pytest.raises(AccountError, match="at most 20"):
        members.proposals.add("shop", asking(*[BOB] * 21))


OLDER = (
    "ALTER TABLE proposals DROP COLUMN ready", "ALTER TABLE proposals DROP COLUMN reviewers",
    "DELETE FROM schema_steps WHERE number > 4",
)  # fmt: skip


def test_a_file_from_before_takes_its_proposals_along(tmp_path: Path) -> None:
    def run(statements: Iterable[str]) -> None:
        with closing(sqlite3.connect(tmp_path / "control.sqlite")) as raw, raw:
            for one in statements:
                raw.execute(one)

    taken_along(lambda: Book.open(tmp_path), run)


def test_a_schema_from_before_takes_its_proposals_along(
    schema: PostgresPlace, tmp_path: Path
) -> None:
    def run(statements: Iterable[str]) -> None:
        with psycopg.connect(schema.url, options=f"-csearch_path={schema.schema}") as raw:
            for one in statements:
                raw.execute(one.encode())

    taken_along(lambda: Book.open(tmp_path, postgres=schema), run)


def taken_along(make: Callable[[], Book], run: Callable[[Iterable[str]], None]) -> None:
    with closing(make()) as book:
        book.proposals.add("shop", WISH)
    run(OLDER)
    with closing(make()) as book:
        found = book.proposals.get("shop", 1)
    assert found is not None
    assert (found.title, found.ready, found.reviewers) == (WISH.title, True, ())


# ---- on a server
def test_whoever_has_the_right_to_its_branch_updates_a_proposal(world: World) -> None:
    clone, author = world.clone("developer"), Asking(world, "developer")
    first = clone.commit(world.next_version())
    assert clone.push("origin", "HEAD:shared").code == 0
    number = author.post("", branch="shared", title="Shared", ready=False).json()["number"]
    theirs, other = world.clone("maintainer"), Asking(world, "maintainer")
    theirs.git("pull", "-q", "origin", "shared")
    second = theirs.commit(world.next_version())
    assert theirs.push("origin", "HEAD:shared").code == 0
    done = other.post("", branch="shared")
    assert (done.status_code, done.json()["number"]) == (201, number), done.text
    found = other.get(number)["proposal"]
    assert (found["head"], found["title"], found["ready"]) == (second, "Shared", False)
    assert (found["author"], found["pushers"]) == (
        "developer@example.com", ["maintainer@example.com"]
    )  # fmt: skip
    assert first != second
    other.say(number, "approved")
    assert other.get(number)["approved"] == []
    theirs.git("reset", "-q", "--hard", "origin/main")
    theirs.commit(world.next_version())
    assert theirs.push("-f", "origin", "HEAD:shared").code == 0
    assert other.post("", branch="shared").json()["number"] != number  # nothing of theirs is lost
    own = propose(theirs, "of-my-own")
    assert own != number
    assert propose(clone, "of-my-own") not in {own, number}  # no branch: a topic is its author's


def test_what_is_not_ready_is_not_merged(world: World) -> None:
    clone = world.clone("developer")
    clone.commit(world.next_version())
    number = propose(clone, "unready", "-o", "ready=no", "-o", "reviewers=owner@example.com")
    author, maintainer = Asking(world, "developer"), Asking(world, "maintainer")
    found = maintainer.get(number)
    assert found["proposal"]["reviewers"] == ["owner@example.com"]
    assert found["obstacles"] == [
        f"it is not ready; its author can mark it as ready: bbops proposals ready {number}"
    ]
    assert "it is not ready" in maintainer.merge(number).text
    clone.commit(world.next_version())
    assert propose(clone, "unready") == number
    assert author.get(number)["proposal"]["ready"] is False
    assert author.post(f"/{number}/mark", ready=True).json()["ready"] is True
    assert maintainer.merge(number).status_code == 200
    assert author.post(f"/{number}/mark", ready=False).status_code == 409


def test_its_author_or_a_maintainer_says_that_it_is_ready(world: World) -> None:
    clone = world.clone("maintainer")
    clone.commit(world.next_version())
    number = propose(clone, "whose")
    other, viewer = Asking(world, "developer"), Asking(world, "viewer")
    assert other.post(f"/{number}/mark", ready=False).status_code == 403
    assert other.post(f"/{number}/mark", reviewers=["developer@example.com"]).status_code == 200
    assert viewer.post(f"/{number}/mark", reviewers=[]).status_code == 403
    refused = other.post(f"/{number}/mark", reviewers=["viewer@example.com"])
    assert (refused.status_code, "cannot review" in refused.text) == (409, True)
    assert other.get(number)["proposal"]["reviewers"] == ["developer@example.com"]


def test_a_push_is_not_ready_by_another_word_than_no(world: World) -> None:
    clone = world.clone("developer")
    clone.commit(world.next_version())
    done = clone.push("-o", "ready=false", "origin", "HEAD:refs/for/main/misspelt")
    assert done.code == 1
    assert "('ready=false' must be yes or no; use -o ready=no)" in done.text


def test_a_push_that_asks_somebody_else_proposes_nothing(world: World) -> None:
    clone = world.clone("developer")
    clone.commit(world.next_version())
    done = clone.push("-o", "reviewers=bob@example.com", "origin", "HEAD:refs/for/main/nobody")
    assert (done.code, "'bob@example.com' cannot review" in done.text) == (1, True)
    assert "nobody" not in [one["topic"] for one in Asking(world, "viewer").ask().json()]


def test_its_page_says_so_and_has_the_buttons(world: World) -> None:
    clone = world.clone("developer")
    clone.commit(world.next_version())
    number = propose(clone, "marked", "-o", "ready=no")
    key = world.book.sessions.begin(world.people["developer"], user_agent="", address="")
    path = f"/projects/shop/proposals/{number}"
    url, headers = world.serving["control_url"], {"accept": "text/html"}
    with httpx.Client(
        base_url=url, cookies={"bbops": key}, headers=headers, timeout=PATIENCE_SECONDS
    ) as browser:
        assert ">not ready</span>" in browser.get("/projects/shop/proposals").text
        shown = browser.get(path).text
        fields = dict(re.findall(r'name="(csrf)" value="([0-9a-f]+)"', shown))
        assert 'name="ready" value="yes">Mark as ready<' in shown
        done = browser.post(f"{path}/mark", data=fields | {"ready": "yes"})
        assert done.headers["location"] == f"{path}?done=marked"
        asked = {"reviewers": "owner@example.com, maintainer@example.com"}
        assert browser.post(f"{path}/mark", data=fields | asked).status_code == 303
        shown = browser.get(path).text
        assert ">not ready</span>" not in shown
        assert "Asked for a review: owner@example.com, maintainer@example.com" in shown
        wrong = browser.post(f"{path}/mark", data=fields | {"reviewers": "<i>"})
        assert (wrong.status_code, "&#39;&lt;i&gt;&#39; cannot review" in wrong.text) == (409, True)
