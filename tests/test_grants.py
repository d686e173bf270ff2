"""Grants of agents: approved, held against roles and addresses, remembered, revoked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.database.place import PostgresPlace
from bbops_server.accounts.book import Book
from bbops_server.accounts.grants import Approval
from bbops_server.accounts.issuing import ACCESS_LASTS, CODE_LASTS
from bbops_server.accounts.people import NewPerson, Person
from bbops_server.accounts.remembered import LASTS
from bbops_server.accounts.rules import GRANTED, Caller, GrantScope, Permission, Role, may
from tests.postgres import DATABASES, place_of
from tests.test_accounts import Clock, add

MCP = "https://bbops.example.com/mcp"
PROJECT = f"{MCP}/p/k1"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=DATABASES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PostgresPlace | None]:
    with place_of(request, tmp_path) as place:
        yield place if isinstance(place, PostgresPlace) else None


@pytest.fixture
def book(tmp_path: Path, clock: Clock, place: PostgresPlace | None) -> Iterator[Book]:
    with closing(Book.open(tmp_path, clock, place)) as book:
        yield book


def approve(
    book: Book, person: Person, *scopes: GrantScope, resource: str = MCP, project: str = ""
) -> str:
    approval = Approval("c1", "Agent", frozenset(scopes), resource, project)
    return book.issuing.approve(person.id, approval)


def give(book: Book, person: Person, *scopes: GrantScope, resource: str = MCP) -> str:
    return book.issuing.issue(approve(book, person, *scopes, resource=resource)).access


# ---- finding
def test_a_token_speaks_for_its_person_within_its_scopes(book: Book) -> None:
    ada = add(book)
    found = book.grants.find(give(book, ada, GrantScope.BUILDER), MCP)
    assert found is not None
    assert (found.caller.how, found.caller.person, found.client) == ("grant", ada.id, "Agent")
    assert found.scopes == {"project", "builder"}
    assert may(found.caller, Permission.PROPOSE, "shop")
    assert not may(found.caller, Permission.READ_REQUESTS, "shop")


def test_no_token_is_kept_as_it_is(book: Book, tmp_path: Path) -> None:
    issued = book.issuing.issue(approve(book, add(book)))
    files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert issued.access.encode() not in files
    assert issued.refresh.encode() not in files


@pytest.mark.parametrize(("audience", "asked", "is_good"), [
    (MCP, MCP, True), (MCP, PROJECT, True), (PROJECT, PROJECT, True), (PROJECT, MCP, False),
    (PROJECT, f"{MCP}/p/k2", False), (MCP, f"{MCP}x", False), (PROJECT, f"{PROJECT}x", False),
    (MCP, "https://other.example.com/mcp", False),
])  # fmt: skip
def test_a_token_is_good_at_its_address_and_below(
    book: Book, audience: str, asked: str, is_good: bool
) -> None:
    token = give(book, add(book), resource=audience)
    assert (book.grants.find(token, asked) is not None) is is_good
    assert (book.grants.recall(token, asked) is not None) is is_good


def test_a_token_ends_after_an_hour(book: Book, clock: Clock) -> None:
    token = give(book, add(book))
    clock.time += ACCESS_LASTS - timedelta(seconds=2)
    assert book.grants.find(token, MCP)
    clock.time += timedelta(seconds=2)
    assert book.grants.find(token, MCP) is None
    assert book.grants.recall(token, MCP) is None


def test_other_keys_are_no_tokens(book: Book) -> None:
    issued = book.issuing.issue(approve(book, add(book)))
    for key in ("", "bba_", "x" * 10_000, "\ud800", issued.refresh, issued.access + "a"):
        assert book.grants.find(key, MCP) is None


# ---- what ends it at once
def test_a_revoked_grant_opens_nothing(book: Book) -> None:
    ada, bob = add(book), add(book, "bob@example.com")
    token = give(book, ada)
    assert book.grants.find(token, MCP)
    (grant,) = book.grants.list(ada.id)
    assert book.grants.revoke(bob.id, grant.id) is None
    assert book.grants.find(token, MCP)
    assert book.grants.revoke(ada.id, grant.id) == grant
    assert book.grants.find(token, MCP) is None
    assert book.grants.list(ada.id) == []


def test_it_dies_with_its_person(book: Book) -> None:
    add(book, "owner@example.com")
    ada = add(book)
    token = give(book, ada)
    assert book.grants.find(token, MCP)
    book.people.disable(ada.id)
    assert book.grants.find(token, MCP) is None


def test_a_role_that_is_taken_counts_at_once(book: Book) -> None:
    add(book, "owner@example.com")
    ada = add(book)
    token = give(book, ada)
    assert book.grants.find(token, MCP)
    book.members.set_role(ada.id, None)
    found = book.grants.find(token, MCP)
    assert found is not None
    assert not may(found.caller, Permission.READ_PROJECT, "shop")


def test_what_another_server_revokes_counts_within_seconds(
    book: Book, clock: Clock, tmp_path: Path, place: PostgresPlace | None
) -> None:
    ada = add(book)
    token = give(book, ada)
    assert book.grants.find(token, MCP)
    with closing(Book.open(tmp_path, clock, place)) as other:
        other.grants.revoke(ada.id, book.grants.list(ada.id)[0].id)
    assert book.grants.find(token, MCP), "it is remembered"
    clock.time += LASTS
    assert book.grants.find(token, MCP) is None


def test_a_log_entry_forgets_nothing(book: Book) -> None:
    token = give(book, add(book))
    assert book.grants.find(token, MCP)
    book.audit.add("look")
    assert book.grants.recall(token, MCP)
    book.workspaces.set_profile("Shop", "")
    assert book.grants.recall(token, MCP) is None


# ---- lists and ends
def test_a_grant_tells_when_it_was_used(book: Book, clock: Clock) -> None:
    ada = add(book)
    token = give(book, ada)
    assert book.grants.list(ada.id)[0].last_used is None
    book.grants.find(token, MCP)
    assert book.grants.list(ada.id)[0].last_used == clock.time
    clock.time += timedelta(minutes=10)
    book.grants.find(token, MCP)
    assert book.grants.list(ada.id)[0].last_used == clock.time


def test_what_was_approved_and_never_taken_up_is_gone(book: Book, clock: Clock) -> None:
    ada = add(book)
    approve(book, ada)
    assert len(book.grants.list(ada.id)) == 1
    clock.time += CODE_LASTS
    assert book.grants.list(ada.id) == []


def test_old_grants_make_room(book: Book, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bbops_server.accounts.grants.MOST_GRANTS", 3)
    ada = add(book)
    tokens = []
    for _ in range(4):
        clock.time += timedelta(seconds=1)
        tokens.append(give(book, ada))
    assert [book.grants.find(one, MCP) is not None for one in tokens] == [False, True, True, True]


# ---- addresses
def test_a_projects_address_stays_and_says_nothing(book: Book) -> None:
    key = book.addresses.of("shop")
    assert book.addresses.of("shop") == key != book.addresses.of("blog")
    assert book.addresses.project(key) == "shop"
    assert book.addresses.project("shop") is None
    assert "shop" not in key


# ---- rules
NEVER = {
    Permission.PUSH_MAIN, Permission.ROLL_BACK, Permission.READ_PEOPLE, Permission.READ_AUDIT,
    Permission.ACCEPT, Permission.SUSPEND, Permission.PUBLISH_FRONTEND, Permission.COPY_ROWS,
    Permission.CHANGE_WORKSPACE, Permission.READ_SERVER, Permission.CLONE,
} | {one for one in Permission if one.name.startswith("MANAGE_")}  # fmt: skip

grants = st.builds(
    Caller, how=st.just("grant"), person=st.just("p"), role=st.none() | st.sampled_from(Role),
    projects=st.dictionaries(st.sampled_from(["shop", "blog"]), st.sampled_from(Role)),
    granted=st.frozensets(st.sampled_from(GrantScope)), project=st.sampled_from(["", "shop"]),
)  # fmt: skip


@given(grants, st.sampled_from(Permission), st.sampled_from(["shop", "blog"]))
def test_a_grant_does_what_both_its_scopes_and_its_person_may(
    caller: Caller, permission: Permission, project: str
) -> None:
    whole = replace(caller, how="session", granted=frozenset(), project="")
    is_granted = any(permission in GRANTED[one] for one in caller.granted)
    if permission is Permission.BE_ANYBODY:
        return
    assert may(caller, permission, project) <= (is_granted and may(whole, permission, project))


@given(grants, st.sampled_from(sorted(NEVER)))
def test_no_grant_publishes_past_a_review_or_manages_people(
    caller: Caller, permission: Permission
) -> None:
    assert not may(replace(caller, role=Role.OWNER), permission, "shop")


def test_every_scope_has_its_meaning() -> None:
    assert set(GRANTED) == set(GrantScope)


def test_a_person_without_a_role_gives_none(book: Book) -> None:
    add(book)
    bob = book.people.add(NewPerson("bob@example.com"))
    found = book.grants.find(give(book, bob, *GrantScope), MCP)
    assert found is not None
    assert may(found.caller, Permission.KNOW_ONESELF)
    assert not may(found.caller, Permission.READ_PROJECT, "shop")
