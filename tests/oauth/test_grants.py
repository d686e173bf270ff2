"""Grants of agents: approved, held against roles and addresses, remembered, revoked."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.database.schema.place import PostgresPlace
from bbops_server.accounts.book import Book
from bbops_server.accounts.grants import Approval
from bbops_server.accounts.issuing import (
    ACCESS_LASTS,
    CODE_LASTS,
    GRACE,
    REFRESH_LASTS,
    Replayed,
    make_tokens,
)
from bbops_server.accounts.limits import LASTS
from bbops_server.accounts.people import NewPerson
from bbops_server.accounts.rules import GRANTED, Caller, GrantScope, Permission, Role, may
from tests.support.accounts import Clock, add
from tests.support.granting import MCP, approve, give, redeem, refresh
from tests.support.postgres import DATABASES, place_of

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
    issued = redeem(book, approve(book, add(book)))
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
    issued = redeem(book, approve(book, add(book)))
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


# ---- codes and refresh tokens
def test_a_code_is_good_once_and_a_second_use_ends_all(book: Book) -> None:
    code = approve(book, add(book))
    issued = redeem(book, code)
    assert book.grants.find(issued.access, MCP)
    with pytest.raises(Replayed) as caught:
        book.issuing.find_code(code)
    assert (caught.value.what, caught.value.email) == ("code", "ada@example.com")
    assert book.grants.find(issued.access, MCP) is None
    assert refresh(book, issued.refresh) is None
    assert book.issuing.find_code(code) is None


def test_of_many_who_use_one_code_at_once_one_is_first(book: Book) -> None:
    code = approve(book, add(book))
    held = book.issuing.find_code(code)
    assert held is not None

    def take(_: int) -> bool:
        try:
            return book.issuing.redeem_code(held, make_tokens(held.scopes))
        except Replayed:
            return False

    with ThreadPoolExecutor(8) as threads:
        assert sorted(threads.map(take, range(8))) == [False] * 7 + [True]


def test_a_code_lasts_a_minute(book: Book, clock: Clock) -> None:
    code = approve(book, add(book))
    clock.time += CODE_LASTS
    assert book.issuing.find_code(code) is None


def test_a_refresh_token_is_new_each_time(book: Book, clock: Clock) -> None:
    first = redeem(book, approve(book, add(book)))
    second = refresh(book, first.refresh)
    assert second is not None
    assert {first.access, first.refresh}.isdisjoint({second.access, second.refresh})
    assert book.grants.find(first.access, MCP), "it is good until it ends"
    clock.time += GRACE
    third = refresh(book, first.refresh)
    assert third is not None, "agents that share it are not thieves"
    clock.time += timedelta(seconds=1)
    with pytest.raises(Replayed, match="refresh token"):
        refresh(book, first.refresh)
    for one in (first, second, third):
        assert book.grants.find(one.access, MCP) is None
        assert refresh(book, one.refresh) is None


def test_a_grant_lives_as_long_as_it_is_refreshed(book: Book, clock: Clock) -> None:
    ada = add(book)
    issued = redeem(book, approve(book, ada))
    for _ in range(4):
        clock.time += REFRESH_LASTS - timedelta(seconds=1)
        refreshed = refresh(book, issued.refresh)
        assert refreshed is not None
        issued = refreshed
    clock.time += REFRESH_LASTS
    assert refresh(book, issued.refresh) is None
    assert book.grants.list(ada.id) == []


def test_what_is_never_refreshed_ends_with_its_token(book: Book, clock: Clock) -> None:
    ada = add(book)
    held = book.issuing.find_code(approve(book, ada))
    assert held is not None
    issued = make_tokens(held.scopes, with_refresh=False)
    assert book.issuing.redeem_code(held, issued)
    assert (issued.refresh, refresh(book, "")) == ("", None)
    clock.time += ACCESS_LASTS
    assert book.grants.list(ada.id) == []


# ---- devices
def begin(book: Book) -> tuple[str, str]:
    return book.devices.begin(Approval("c1", "Agent", frozenset(), MCP), "192.0.2.1")


def test_a_device_gets_what_somebody_approved_once(book: Book) -> None:
    ada = add(book)
    key, code = begin(book)
    waiting = book.devices.find(code.lower().replace("-", " "))
    assert waiting is not None
    assert book.devices.decide(waiting, ada.id, approve=True)
    assert not book.devices.decide(waiting, ada.id, approve=False), "it is decided"
    approved = book.devices.look(key)
    assert approved is not None
    assert (approved.outcome, book.devices.find(code)) == ("approved", None)
    issued = make_tokens("project")
    assert book.devices.redeem(approved, issued)
    assert not book.devices.redeem(approved, make_tokens("project"))
    assert book.grants.find(issued.access, MCP)


def test_a_device_that_is_denied_or_waits_too_long_gets_nothing(book: Book, clock: Clock) -> None:
    ada = add(book)
    for is_late in (False, True):
        key, code = begin(book)
        waiting = book.devices.find(code)
        assert waiting is not None
        clock.time += timedelta(hours=is_late)
        assert book.devices.decide(waiting, ada.id, approve=is_late) is not is_late
        found = book.devices.look(key)
        assert found is not None
        assert (found.outcome == "denied") is not found.is_over
        assert not book.devices.redeem(found, make_tokens("project"))
    assert book.grants.list(ada.id) == []


def test_a_device_that_asks_too_often_waits_longer(book: Book, clock: Clock) -> None:
    device = book.devices.look(begin(book)[0])
    assert device is not None
    waits = (0, 5, 4, 9, 15)
    hasty = [book.devices.is_hasty(device) for wait in waits if clock.wait(timedelta(seconds=wait))]
    assert hasty == [False, False, True, True, False]


def test_old_devices_make_room(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bbops_server.accounts.logins.MOST_DEVICES", 2)
    codes = [begin(book)[1] for _ in range(4)]
    assert sum(book.devices.find(code) is not None for code in codes) == 2


# ---- clients
def test_a_client_that_nobody_signed_in_with_is_forgotten(book: Book, clock: Clock) -> None:
    unused, used = book.clients.register("{}"), book.clients.register("{}")
    book.clients.use(used)
    clock.time += timedelta(days=1)
    book.clients.register("{}")
    assert (book.clients.find(unused) is None, book.clients.find(used) is None) == (True, False)


def test_a_document_is_kept_in_the_place_of_the_one_before(book: Book, clock: Clock) -> None:
    address = "https://agent.example.com/client.json"
    book.clients.keep_document(address, '{"a":1}')
    clock.time += timedelta(hours=2)
    found = book.clients.find(address)
    assert found is not None
    assert not book.clients.is_fresh(found, timedelta(hours=1))
    book.clients.keep_document(address, '{"a":2}')
    found = book.clients.find(address)
    assert found is not None
    assert (found.metadata, book.clients.is_fresh(found, timedelta(hours=1))) == ('{"a":2}', True)


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
