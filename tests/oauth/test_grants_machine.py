"""Grants as a machine: whatever people, agents and thieves do, what opens is what should."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from bbops_server.accounts.book import Book
from bbops_server.accounts.issuing import (
    ACCESS_LASTS,
    CODE_LASTS,
    GRACE,
    REFRESH_LASTS,
    Issued,
    Replayed,
)
from bbops_server.accounts.people import NewPerson
from bbops_server.accounts.rules import GrantScope, Role
from tests.support.accounts import Clock
from tests.support.granting import MCP, approve, redeem, refresh


@dataclass
class Given:
    """A grant as it should be."""

    person: str
    has_ended: bool = False
    lives: datetime | None = None
    accesses: dict[str, datetime] = field(default_factory=dict)


@dataclass(eq=False)
class Key:
    """A code, or a refresh token."""

    text: str
    grant: Given
    ends: datetime
    used: datetime | None = None


class Grants(RuleBasedStateMachine):
    codes = Bundle("codes")
    refreshes = Bundle("refreshes")

    def __init__(self) -> None:
        super().__init__()
        self.folder, self.clock = TemporaryDirectory(), Clock()
        self.book = Book.open(Path(self.folder.name), self.clock)
        self.grants: list[Given] = []
        self.kept_out: set[str] = set()

    def teardown(self) -> None:
        self.book.close()
        self.folder.cleanup()

    @initialize()
    def begin(self) -> None:
        self.book.people.add(NewPerson("owner@example.com", role=Role.OWNER))
        self.people = [self.book.people.add(NewPerson(f"{one}@example.com")) for one in "ab"]

    # ---- what people do
    @rule(target=codes, who=st.integers(0, 1), scopes=st.sets(st.sampled_from(GrantScope)))
    def agree(self, who: int, scopes: set[GrantScope]) -> Key:
        grant = Given(self.people[who].id, lives=self.clock.time + CODE_LASTS)
        self.grants.append(grant)
        code = approve(self.book, self.people[who], *scopes)
        return Key(code, grant, self.clock.time + CODE_LASTS)

    @rule(seconds=st.sampled_from([1, 9, 11, 59, 61, 3_599, 3_601, 86_400, 29 * 86_400]))
    def wait(self, seconds: int) -> None:
        self.clock.time += timedelta(seconds=seconds)

    @rule(who=st.integers(0, 1), disabled=st.booleans())
    def keep_out(self, who: int, disabled: bool) -> None:
        person = self.people[who].id
        self.book.people.disable(person, disabled=disabled)
        (self.kept_out.add if disabled else self.kept_out.discard)(person)

    @rule(who=st.integers(0, 1))
    def revoke_all(self, who: int) -> None:
        person = self.people[who].id
        for one in self.book.grants.list(person):
            assert self.book.grants.revoke(person, one.id)
        for grant in self.grants:
            grant.has_ended |= grant.person == person

    # ---- what agents and thieves do
    @rule(target=refreshes, code=codes)
    def use_code(self, code: Key) -> object:
        is_open = self._is_open(code) and code.used is None
        if self._is_open(code) and code.used is not None:
            with pytest.raises(Replayed):
                self.book.issuing.find_code(code.text)
            code.grant.has_ended = True
            return multiple()
        if not is_open:
            assert self.book.issuing.find_code(code.text) is None
            return multiple()
        code.used = self.clock.time
        return self._took(code.grant, redeem(self.book, code.text))

    @rule(target=refreshes, key=refreshes)
    def use_refresh(self, key: Key) -> object:
        if not self._is_open(key):
            assert refresh(self.book, key.text) is None
            return multiple()
        if key.used is not None and self.clock.time - key.used > GRACE:
            with pytest.raises(Replayed):
                refresh(self.book, key.text)
            key.grant.has_ended = True
            return multiple()
        key.used = key.used or self.clock.time
        issued = refresh(self.book, key.text)
        assert issued is not None
        return self._took(key.grant, issued)

    @rule(key=consumes(refreshes))
    def give_back(self, key: Key) -> None:
        held = self.book.issuing.find_token(key.text)
        if held is not None:
            self.book.issuing.end(held)
            key.grant.has_ended = True

    def _took(self, grant: Given, issued: Issued) -> Key:
        grant.accesses[issued.access] = self.clock.time + ACCESS_LASTS
        grant.lives = self.clock.time + REFRESH_LASTS
        return Key(issued.refresh, grant, self.clock.time + REFRESH_LASTS)

    def _is_open(self, key: Key) -> bool:
        is_in_time = key.ends > self.clock.time
        if key.text.startswith("bbc_") and key.used is not None and self._lives(key.grant):
            is_in_time = True  # a code that was used tells of a theft as long as its grant lives
        return is_in_time and self._may(key.grant)

    def _lives(self, grant: Given) -> bool:
        return grant.lives is not None and grant.lives > self.clock.time

    def _may(self, grant: Given) -> bool:
        return not grant.has_ended and grant.person not in self.kept_out and self._lives(grant)

    # ---- what must hold
    @invariant()
    def a_token_opens_what_it_should(self) -> None:
        for grant in self.grants:
            for token, ends in grant.accesses.items():
                is_good = self._may(grant) and ends > self.clock.time
                assert (self.book.grants.find(token, MCP) is not None) is is_good

    @invariant()
    def a_person_sees_what_lives(self) -> None:
        for person in getattr(self, "people", ()):
            mine = [one for one in self.grants if one.person == person.id]
            lives = sum(self._lives(one) and not one.has_ended for one in mine)
            assert len(self.book.grants.list(person.id)) == lives


Grants.TestCase.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
TestGrants = Grants.TestCase
