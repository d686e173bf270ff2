"""What each role may do, and how often something is tried."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops_server.accounts.limits import Limit
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

pytestmark = pytest.mark.quick

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
