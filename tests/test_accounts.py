"""Accounts: people, roles, sessions, tokens, invitations, as the control database keeps them."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.database.place import PostgresPlace
from bbops.database.postgres.opened import drop_schema
from bbops.errors import DatabaseError
from bbops_server.accounts.book import Book
from bbops_server.accounts.errors import AccountError, ControlAway
from bbops_server.accounts.invitations import LASTS
from bbops_server.accounts.limits import Limit
from bbops_server.accounts.people import NewPerson, Person
from bbops_server.accounts.rules import (
    INCLUDED,
    LOCAL,
    NOBODY,
    RULES,
    Caller,
    Permission,
    Role,
    Scope,
    may,
)
from bbops_server.accounts.sessions import IDLE, LONGEST, MOST_SESSIONS
from bbops_server.accounts.words import check_password, tidy_email
from tests.postgres import DATABASES, place_of


class Clock:
    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time

    def wait(self, time: timedelta) -> bool:
        self.time += time
        return True


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=DATABASES)
def book(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Book]:
    """A book in a file, and one in a schema; what is about files says so by `ON_FILE`."""
    with place_of(request, tmp_path) as place:
        found = Book.open(tmp_path, clock, place if isinstance(place, PostgresPlace) else None)
        yield found
        found.close()


ON_FILE = pytest.mark.parametrize("book", ["sqlite"], indirect=True)


def add(book: Book, email: str = "ada@example.com", role: Role | None = Role.OWNER) -> Person:
    return book.people.add(NewPerson(email, "Ada", "Engines", "$2b$a-hash", role=role))


# ---- the database
@ON_FILE
def test_the_database_is_its_owners_alone(book: Book, tmp_path: Path) -> None:
    assert stat.S_IMODE((tmp_path / "control.sqlite").stat().st_mode) == 0o600


@ON_FILE
def test_a_database_of_a_newer_version_is_refused(book: Book, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "control.sqlite") as raw:
        raw.execute("INSERT INTO schema_steps VALUES (99, 0)")
    raw.close()
    with pytest.raises(DatabaseError, match="newer bbops"):
        Book.open(tmp_path)


def test_what_is_no_database_is_said(tmp_path: Path) -> None:
    (tmp_path / "control.sqlite").write_bytes(b"x" * 5_000)
    with pytest.raises(DatabaseError, match="cannot open the control database"):
        Book.open(tmp_path)


@ON_FILE
def test_it_is_opened_again_with_what_it_held(book: Book, tmp_path: Path) -> None:
    add(book)
    again = Book.open(tmp_path)
    assert again.people.exist()
    again.close()


def test_of_several_who_set_up_at_once_one_is_first(book: Book) -> None:
    outcomes: list[object] = []

    def set_up(number: int) -> None:
        try:
            new = NewPerson(f"p{number}@example.com", role=Role.OWNER)
            outcomes.append(book.people.add(new, only_first=True))
        except AccountError as error:
            outcomes.append(error)

    threads = [threading.Thread(target=set_up, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [isinstance(one, Person) for one in outcomes].count(True) == 1
    assert len(book.people.list()) == 1


# ---- people
def test_an_address_is_one_account_however_it_is_spelt(book: Book) -> None:
    person = add(book)
    assert book.people.get("ADA@Example.com") == person
    with pytest.raises(AccountError, match="there is an account"):
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
def begin(book: Book, person: Person) -> str:
    return book.sessions.begin(person.id, user_agent="Browser", address="192.0.2.1")


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
    with pytest.raises(AccountError, match="no longer"):
        book.invitations.accept(key, NewPerson("eve@example.com"))
    clock.time += LASTS
    with pytest.raises(AccountError, match="no longer"):
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
    with pytest.raises(AccountError, match="no feature 'x'"):
        book.workspaces.set_feature("x", on=True)


def test_the_log_tells_the_newest_first(book: Book) -> None:
    for number in range(5):
        book.audit.add(f"do {number}", who="ada@example.com", object="x" * 1_000)
    entries = book.audit.list(limit=2)
    assert [one.action for one in entries] == ["do 4", "do 3"]
    assert len(entries[0].object) == 300
    assert book.audit.list(before=entries[1].number, limit=1)[0].action == "do 2"


# ---- rules
callers = st.builds(
    Caller, how=st.sampled_from(["session", "token"]), person=st.just("p"),
    role=st.none() | st.sampled_from(Role),
    projects=st.dictionaries(st.sampled_from(["shop", "blog"]), st.sampled_from(Role)),
    scopes=st.frozensets(st.sampled_from(Scope)), project=st.sampled_from(["", "shop"]),
)  # fmt: skip


@given(callers, st.sampled_from(Permission), st.sampled_from(["shop", "blog"]))
def test_a_token_never_does_what_its_person_may_not(
    caller: Caller, permission: Permission, project: str
) -> None:
    whole = replace(caller, how="session", scopes=frozenset(), project="")
    assert may(caller, permission, project) <= may(whole, permission, project)


@given(callers, st.sampled_from(Permission), st.sampled_from(Role))
def test_a_higher_role_may_all_that_a_lower_may(
    caller: Caller, permission: Permission, role: Role
) -> None:
    roles = sorted([role, caller.role or Role.VIEWER], key=lambda one: one.rank)
    low, high = (may(replace(caller, role=one), permission, "shop") for one in roles)
    assert low <= high


def test_nobody_may_only_what_anybody_may() -> None:
    for permission in Permission:
        assert may(NOBODY, permission) is (RULES[permission].where == "anybody")


def test_this_machines_user_may_all_but_what_takes_an_account() -> None:
    assert [one for one in Permission if not may(LOCAL, one, "x")] == [Permission.MANAGE_ONESELF]


def test_every_permission_has_its_rule_and_every_scope_its_meaning() -> None:
    assert set(RULES) == set(Permission)
    assert set(INCLUDED) == set(Scope)


# ---- limits
def test_a_limit_tells_when_to_come_again() -> None:
    now = [0.0]
    limit = Limit(2, 60, clock=lambda: now[0])
    assert [limit.take("a"), limit.take("a"), limit.take("a"), limit.take("b")] == [0, 0, 60, 0]
    now[0] = 59.5
    assert limit.take("a") == 1
    now[0] = 60
    assert limit.take("a") == 0
    limit.forget("a")
    assert limit.take("a") == 0


def test_a_limit_forgets_what_was_tried_longest_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bbops_server.accounts.limits.MOST_KEYS", 3)
    limit = Limit(1, 60)
    for key in "abcd":
        limit.take(key)
    assert (limit.take("a"), limit.take("d")) == (0, 60)


SWITCH = """
import sys
from pathlib import Path
from bbops_server.accounts.book import Book
book = Book.open(Path(sys.argv[1]))
book.workspaces.set_feature("restChannels", on=False)
book.close()
"""


@ON_FILE
def test_what_another_process_changed_is_seen_also_after_opening_twice(
    book: Book, tmp_path: Path
) -> None:
    book.workspaces.get()
    second = Book.open(tmp_path)
    second.workspaces.get()
    subprocess.run([sys.executable, "-c", SWITCH, str(tmp_path)], check=True)
    assert (tmp_path / "control.sqlite-wal").exists()
    for one in (book, second):
        assert one.workspaces.get().features == {"restChannels": False}
    second.close()


# ---- in PostgreSQL
def test_servers_that_begin_at_once_make_one_schema(schema: PostgresPlace, tmp_path: Path) -> None:
    place = replace(schema, schema=f"{schema.schema}__control")
    books = [Book.open(tmp_path, postgres=place) for _ in range(6)]
    with ThreadPoolExecutor(6) as threads:
        assert not any(threads.map(lambda book: book.people.exist(), books))
        outcomes = threads.map(lambda one: _begun(one[1], one[0]), enumerate(books))
        assert sorted(outcomes) == [False] * 5 + [True]
    for book in books:
        assert len(book.people.list()) == 1
        book.close()
    drop_schema(place)


def _begun(book: Book, number: int) -> bool:
    try:
        book.people.add(NewPerson(f"p{number}@example.com", role=Role.OWNER), only_first=True)
    except AccountError:
        return False
    return True


def test_a_new_schema_gets_what_the_file_held(schema: PostgresPlace, tmp_path: Path) -> None:
    with closing(Book.open(tmp_path)) as file:
        ada = add(file)
        key = begin(file, ada)
        file.audit.add("first")
        file.audit.add("second")
    with closing(Book.open(tmp_path, postgres=schema)) as book:
        assert [one.id for one in book.people.list()] == [ada.id]
        assert book.sessions.find(key) is not None
        book.audit.add("third")
        assert [one.action for one in book.audit.list()] == ["third", "second", "first"]
    with closing(Book.open(tmp_path)) as file:
        file.people.disable(add(file, "bob@example.com", None).id)
    with closing(Book.open(tmp_path, postgres=schema)) as book:
        assert len(book.people.list()) == 1, "it is asked once"


def test_a_schema_of_a_newer_version_is_refused(schema: PostgresPlace, tmp_path: Path) -> None:
    with closing(Book.open(tmp_path, postgres=schema)) as book:
        assert not book.people.exist()
    with psycopg.connect(schema.address, autocommit=True) as raw:
        raw.execute("INSERT INTO schema_steps VALUES (99, 0)")
    with (
        closing(Book.open(tmp_path, postgres=schema)) as book,
        pytest.raises(DatabaseError, match=f"in schema '{schema.schema}' of .*newer bbops"),
    ):
        book.people.exist()


def test_a_server_that_comes_back_is_asked_again(schema: PostgresPlace, tmp_path: Path) -> None:
    with closing(Book.open(tmp_path, postgres=schema)) as book:
        add(book)
        with psycopg.connect(schema.url, autocommit=True) as raw:
            ours = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name"
            raw.execute(f"{ours} = 'bbops control'".encode())
        assert book.people.exist()


def test_a_server_that_is_away_is_said_without_its_password(tmp_path: Path) -> None:
    away = PostgresPlace("postgresql://ada:hunter2@127.0.0.1:1/shop", "shop__control")
    with closing(Book.open(tmp_path, postgres=away)) as book:
        with pytest.raises(ControlAway) as caught:
            book.people.exist()
        assert "schema 'shop__control' of postgresql://127.0.0.1:1/shop" in caught.value.message
        assert "hunter2" not in str(caught.value)
