"""A token of a draft ends with its person: kept out, or without a role in the project."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from bbops_server.accounts.rules import Role, Scope
from bbops_server.data_plane.drafts.keys import find_mark, make_token, mark_of
from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.pushing import World
from tests.support.small_project import hello

KEY = b"k" * 32


def test_a_token_says_whom_it_is_for_and_nobody_can_change_that() -> None:
    ada, bob = mark_of("ada"), mark_of("bob")
    token = make_token(KEY, 100, ada)
    assert find_mark(token, KEY, 99) == ada
    assert find_mark(token, KEY, 100) is None
    assert find_mark(token, b"x" * 32, 99) is None
    assert find_mark(token.replace(ada, bob), KEY, 99) is None
    assert find_mark(token.replace(ada, ""), KEY, 99) is None
    assert find_mark(make_token(KEY, 100), KEY, 99) == ""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("world")) as world:
        clone = world.clone("owner")
        clone.commit(hello(7))
        assert clone.push("origin", "HEAD:refs/heads/topic").code == 0
        yield world


def open_draft(world: World, name: str) -> httpx.Client:
    """Return a client that somebody's token lets into the draft."""
    token = world.token(name, scopes=[Scope.READ])
    path = "/api/projects/shop/drafts"
    with httpx.Client(
        base_url=world.serving["control_url"],
        headers={"authorization": f"Bearer {token}"},
        timeout=PATIENCE_SECONDS,
    ) as control:
        wait_for(lambda: control.get(path).json())
        made = control.post(f"{path}/topic/token", json={}).json()
    return httpx.Client(base_url=made["url"], headers={"x-draft-token": made["token"]}, timeout=30)


@pytest.mark.long
def test_who_is_kept_out_sees_no_draft_any_more(world: World) -> None:
    people, members = world.book.people, world.book.members
    person = world.people["leaver"] = world.add("leaver", None, Role.VIEWER)
    with open_draft(world, "leaver") as leaver, open_draft(world, "viewer") as viewer:
        assert leaver.get("hello").json()["version"] == 7
        people.disable(person)
        wait_for(lambda: leaver.get("hello").status_code == 401)
        assert viewer.get("hello").status_code == 200
        entered = leaver.post("~enter", data={"token": leaver.headers["x-draft-token"]})
        assert (entered.status_code, len(entered.cookies)) == (401, 0)
        people.disable(person, disabled=False)
        wait_for(lambda: leaver.get("hello").status_code == 200)
        members.set_role(person, None, "shop")  # still a member of `left`
        wait_for(lambda: leaver.get("hello").status_code == 401)
        with open_draft(world, "viewer") as again:  # all were told anew
            assert again.get("hello").status_code == 200
        assert leaver.get("hello").status_code == 401


@pytest.mark.long
def test_who_has_just_got_a_role_is_let_in_at_once(world: World) -> None:
    for number in range(3):
        world.people[f"new-{number}"] = world.add(f"new-{number}", None, Role.VIEWER)
        with open_draft(world, f"new-{number}") as client:
            assert client.get("hello").status_code == 200
