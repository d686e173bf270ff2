"""Accounts: people, roles, sessions, tokens, invitations, as the control database keeps them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bbops_server.accounts.book import Book
from bbops_server.accounts.invitations import LASTS
from bbops_server.accounts.people import NewPerson
from bbops_server.accounts.rules import Role, Scope
from bbops_server.accounts.sessions import IDLE, LONGEST, MOST_SESSIONS
from bbops_server.accounts.text_rules import AccountError, check_password, tidy_email
from tests.support.accounts import Clock, add, begin, book, clock

__all__ = ["book", "clock"]


# ---- people
def test_an_address_is_one_account_however_it_is_spelt(book: Book) -> None:
    person = add(book)
    assert book.people.get("ADA@Example.com") == person
    with pytest.raises(AccountError, match="an account with this"):
        add(book, " Ada@EXAMPLE.com ")


@pytest.mark.parametrize(
    "email", ["", "ada", "@example.com", "a b@example.com", "<a@b.c", "a\x00@b", "a@" + "b" * 260]
)
def test_what_is_no_address_is_refused(email: str) -> None:
    with pytest.raises(AccountError):
        tidy_email(email)


@pytest.mark.parametrize(
    "password",
    ["", "short", "a" * 40, "ada@example.com", "ADA@EXAMPLE.COM", "x" * 1_001, "abababababab"],
)
def test_a_password_that_is_guessed_first_is_refused(password: str) -> None:
    with pytest.raises(AccountError):
        check_password(password, "ada@example.com")


@pytest.mark.parametrize(
    "password", ["correct horse battery", "läufer über zwölf", "x1y2z3a4b5c6" * 9]
)
def test_a_long_password_needs_no_signs(password: str) -> None:
    check_password(password, "ada@example.com")


@pytest.mark.parametrize("name", ["a\nb", "x" * 201, "\u202eevil", "\x00"])
def test_a_name_is_one_line_that_is_seen(book: Book, name: str) -> None:
    with pytest.raises(AccountError):
        book.people.add(NewPerson("a@example.com", name))


def test_the_last_owner_stays(book: Book) -> None:
    ada = add(book)
    for change in (
        lambda: book.members.set_role(ada.id, Role.VIEWER),
        lambda: book.members.set_role(ada.id, None),
        lambda: book.people.disable(ada.id),
    ):
        with pytest.raises(AccountError, match="at least one owner"):
            change()
    assert book.members.roles(ada.id) == (Role.OWNER, {})
    bob = add(book, "bob@example.com")
    book.people.disable(ada.id)
    with pytest.raises(AccountError):
        book.members.set_role(bob.id, Role.MAINTAINER)


def test_roles_are_of_the_workspace_and_of_projects(book: Book) -> None:
    add(book)
    bob = add(book, "bob@example.com", None)
    book.members.set_role(bob.id, Role.DEVELOPER, "shop")
    assert book.members.roles(bob.id) == (None, {"shop": Role.DEVELOPER})
    book.members.set_role(bob.id, Role.VIEWER)
    book.members.set_role(bob.id, Role.MAINTAINER, "shop")
    assert book.members.roles_of_all()[bob.id] == (Role.VIEWER, {"shop": Role.MAINTAINER})
    book.members.set_role(bob.id, None, "shop")
    assert book.members.roles(bob.id) == (Role.VIEWER, {})


def test_an_identity_is_found_by_provider_and_subject(book: Book) -> None:
    ada = add(book)
    book.people.add_identity(ada.id, "corp", "17")
    assert book.people.find_identity("corp", "17") == ada
    assert book.people.find_identity("other", "17") is None


# ---- sessions
def test_a_session_is_known_by_its_key_alone(book: Book, tmp_path: Path) -> None:
    ada = add(book)
    key = begin(book, ada)
    caller = book.sessions.find(key)
    assert caller is not None
    assert (caller.how, caller.person, caller.role) == ("session", ada.id, Role.OWNER)
    assert book.sessions.find("bbs_" + "a" * 40) is None
    files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert key.encode() not in files


@pytest.mark.parametrize(("pause", "times", "lives"), [
    (IDLE, 1, False), (IDLE - timedelta(hours=1), 4, True),
    (timedelta(days=6), LONGEST // timedelta(days=6), False),
])  # fmt: skip
def test_a_session_ends_when_idle_and_after_all(
    book: Book, clock: Clock, pause: timedelta, times: int, lives: bool
) -> None:
    key = begin(book, add(book))
    found = [book.sessions.find(key) for _ in range(times) if clock.wait(pause)]
    assert (found[-1] is not None) is lives


def test_sessions_end_with_the_password_the_person_or_a_word(book: Book) -> None:
    add(book, "owner@example.com")
    ada = add(book)
    ends: list[Callable[[], Any]] = [
        lambda: book.people.set_password(ada.id, "other"),
        lambda: book.people.disable(ada.id),
        lambda: book.sessions.end_all(ada.id),
        lambda: [book.sessions.end(ada.id, one.id) for one in book.sessions.list(ada.id)],
    ]
    for end in ends:
        key = begin(book, ada)
        assert book.sessions.find(key)
        end()
        assert book.sessions.find(key) is None
        book.people.disable(ada.id, disabled=False)


def test_nobody_ends_the_session_of_another(book: Book) -> None:
    ada, bob = add(book), add(book, "bob@example.com")
    key = begin(book, ada)
    (session,) = book.sessions.list(ada.id)
    assert not book.sessions.end(bob.id, session.id)
    assert book.sessions.find(key)


def test_old_sessions_make_room(book: Book, clock: Clock) -> None:
    ada = add(book)
    first = begin(book, ada)
    for _ in range(MOST_SESSIONS):
        clock.time += timedelta(minutes=1)
        begin(book, ada)
    assert len(book.sessions.list(ada.id)) == MOST_SESSIONS
    assert book.sessions.find(first) is None


# ---- tokens
def test_a_token_carries_scopes_and_ends(book: Book, clock: Clock, tmp_path: Path) -> None:
    ada = add(book)
    key, token = book.tokens.make(ada.id, "ci", [Scope.DEPLOY], project="shop", days=3)
    assert (key[:8], key[:4]) == (token.prefix, "bbp_")
    caller = book.tokens.find(key)
    assert caller is not None
    assert (set(caller.scopes), caller.project) == ({Scope.DEPLOY}, "shop")
    assert key.encode() not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
    clock.time += timedelta(days=3)
    assert book.tokens.find(key) is None
    assert book.tokens.list(ada.id) == []


def test_a_token_ends_when_it_is_revoked_by_who_it_is_of(book: Book) -> None:
    ada, bob = add(book), add(book, "bob@example.com")
    key, token = book.tokens.make(ada.id, "ci", [Scope.READ])
    assert not book.tokens.revoke(bob.id, token.id)
    assert book.tokens.find(key)
    assert book.tokens.revoke(ada.id, token.id)
    assert book.tokens.find(key) is None


def test_a_token_dies_with_its_person(book: Book) -> None:
    add(book, "owner@example.com")
    ada = add(book)
    key, _ = book.tokens.make(ada.id, "ci", [Scope.READ])
    book.people.disable(ada.id)
    assert book.tokens.find(key) is None


@pytest.mark.parametrize(
    ("name", "scopes", "days"), [("", [Scope.READ], 1), ("x", [], 1), ("x", [Scope.READ], 367)]
)
def test_a_token_has_a_name_a_scope_and_an_end(
    book: Book, name: str, scopes: list[Scope], days: int
) -> None:
    with pytest.raises(AccountError):
        book.tokens.make(add(book).id, name, scopes, days=days)


# ---- invitations
def test_an_invitation_makes_one_account_with_its_role(book: Book) -> None:
    add(book)
    key, _ = book.invitations.make("bob@example.com", Role.DEVELOPER, invited_by="ada@example.com")
    bob = book.invitations.accept(key, NewPerson("Bob@example.com", "Bob"))
    assert (book.members.roles(bob.id)[0], bob.is_verified) == (Role.DEVELOPER, True)
    with pytest.raises(AccountError):
        book.invitations.accept(key, NewPerson("bob@example.com", "Bob"))


def test_an_invitation_to_a_project_is_for_it_alone(book: Book) -> None:
    add(book)
    key, _ = book.invitations.make("b@example.com", Role.VIEWER, invited_by="a", project="shop")
    bob = book.invitations.accept(key, NewPerson("b@example.com"), ("corp", "3"))
    assert book.members.roles(bob.id) == (None, {"shop": Role.VIEWER})
    assert book.people.find_identity("corp", "3") == bob


def test_an_invitation_is_for_one_address_and_a_week(book: Book, clock: Clock) -> None:
    add(book)
    key, _ = book.invitations.make("bob@example.com", Role.VIEWER, invited_by="a")
    with pytest.raises(AccountError, match="invalid or has expired"):
        book.invitations.accept(key, NewPerson("eve@example.com"))
    clock.time += LASTS
    with pytest.raises(AccountError, match="invalid or has expired"):
        book.invitations.accept(key, NewPerson("bob@example.com"))


def test_a_withdrawn_invitation_is_none(book: Book) -> None:
    add(book)
    key, invitation = book.invitations.make("bob@example.com", Role.VIEWER, invited_by="a")
    assert book.invitations.withdraw(invitation.id)
    assert book.invitations.find(key) is None
    assert book.invitations.list() == []


# ---- the workspace and the log
def test_features_are_as_they_come_until_somebody_switches_them(book: Book) -> None:
    assert book.workspaces.get().features == {"restChannels": True}
    book.workspaces.set_feature("restChannels", on=False)
    book.workspaces.set_profile("Shop", "Engines Ltd")
    workspace = book.workspaces.get()
    assert (workspace.company, workspace.features) == ("Engines Ltd", {"restChannels": False})
    with pytest.raises(AccountError, match="unknown feature 'x'"):
        book.workspaces.set_feature("x", on=True)


def test_the_log_tells_the_newest_first(book: Book) -> None:
    for number in range(5):
        book.audit.add(f"do {number}", who="ada@example.com", object="x" * 1_000)
    entries = book.audit.list(limit=2)
    assert [one.action for one in entries] == ["do 4", "do 3"]
    assert len(entries[0].object) == 300
    assert book.audit.list(before=entries[1].number, limit=1)[0].action == "do 2"
