"""Refresh tokens: each is used once, and one that is used long after it ends the sign-in."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbops.compiler.testing.client import Client
from bbops.database.open import open_database
from bbops.runtime.steps.sign_ins import GRACE_SECONDS
from tests.support.postgres import DATABASES, place_of
from tests.support.workbench import Bench

BEGIN = """
input: { user: string }
steps:
  - generateAuthToken: { userId: '${ input.user }', refresh: true }
    as: tokens
  - return: { value: '${ vars.tokens }' }
"""
RENEW = """
input: { token: string }
steps:
  - refreshAuthToken: { refreshToken: '${ input.token }' }
    as: next
  - return: { value: '${ vars.next }' }
"""
END = """
input: { token?: string, user?: string }
steps:
  - if: input.token != null
    then: [revokeAuthToken: { refreshToken: '${ input.token }' }]
  - if: input.user != null
    then: [revokeAuthToken: { userId: '${ input.user }' }]
"""


@pytest.fixture(params=DATABASES)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    with place_of(request, tmp_path) as place, Bench(place, {}) as found:
        yield found


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with Bench(tmp_path_factory.mktemp("alone"), {}) as found:
        yield found


def wait(bench: Bench, **lasts: float) -> None:
    clock: Any = bench.host.clock
    clock.moment += timedelta(**lasts)


def salts(bench: Bench) -> list[tuple[Any, ...]]:
    return bench.sql("SELECT * FROM _bbops_refresh_salts")


def begin(bench: Bench, user: str = "ada") -> str:
    token: str = bench.run(BEGIN, {"user": user})["refreshToken"]
    return token


def renew(bench: Bench, token: str) -> Any:
    reply = bench.ask(bench.client(RENEW), {"token": token})
    return reply.json if reply.status == 200 else reply.status


def test_a_sign_in_goes_on_with_a_new_token_each_time(bench: Bench) -> None:
    token = begin(bench)
    for _ in range(3):
        found = renew(bench, token)
        assert found["userId"] == "ada"
        assert found["refreshToken"] != token
        token = found["refreshToken"]


def test_a_token_that_is_used_again_late_ends_the_sign_in_and_no_other(bench: Bench) -> None:
    first, other = begin(bench), begin(bench)
    second = renew(bench, first)["refreshToken"]
    wait(bench, seconds=GRACE_SECONDS)
    assert renew(bench, first) == 401
    assert renew(bench, second) == 401
    assert renew(bench, other)["userId"] == "ada"


def test_a_second_tab_gets_the_token_of_the_first(bench: Bench) -> None:
    first = begin(bench)
    second = renew(bench, first)
    wait(bench, seconds=GRACE_SECONDS - 1)
    assert renew(bench, first) == second
    third = renew(bench, second["refreshToken"])
    assert renew(bench, second["refreshToken"]) == third
    wait(bench, seconds=2)
    assert renew(bench, first) == 401
    assert renew(bench, third["refreshToken"]) == 401


def test_a_slow_tab_gets_the_newest_token(bench: Bench) -> None:
    first = begin(bench)
    second = renew(bench, first)["refreshToken"]
    third = renew(bench, second)
    assert renew(bench, first) == third
    wait(bench, seconds=GRACE_SECONDS)
    assert renew(bench, third["refreshToken"])["userId"] == "ada"


def test_a_quick_thief_is_found_out(bench: Bench) -> None:
    stolen = begin(bench)
    own = renew(bench, stolen)["refreshToken"]
    taken = renew(bench, stolen)["refreshToken"]
    own = renew(bench, own)["refreshToken"]
    wait(bench, minutes=15)
    assert renew(bench, taken) == 401
    assert renew(bench, own) == 401


def test_who_reads_the_database_cannot_make_the_next_token(bench: Bench) -> None:
    token = begin(bench)
    found = renew(bench, token)["refreshToken"]
    kept = str(bench.sql("SELECT * FROM _bbops_refresh_tokens")) + str(salts(bench))
    assert token not in kept
    assert found not in kept
    wait(bench, seconds=GRACE_SECONDS)
    renew(bench, begin(bench))
    assert len(salts(bench)) == 1


def test_all_who_use_a_token_at_once_get_the_same(bench: Bench) -> None:
    """Two doors to one database stand for two processes; each waits for the other's locks."""
    token, place = begin(bench), bench.place
    other = bench.loop.run_until_complete(open_database(place))
    ours = bench.client(RENEW)
    theirs = bench.client(RENEW, other)

    async def all_at_once() -> set[str]:
        asked = (one.ask("POST", "/run", {"token": token}) for one in (ours, theirs) * 6)
        return {reply.json["refreshToken"] for reply in await asyncio.gather(*asked)}

    found = bench.loop.run_until_complete(all_at_once())
    bench.loop.run_until_complete(other.close())
    assert len(found) == 1
    wait(bench, minutes=1)
    assert renew(bench, found.pop())["userId"] == "ada"


@settings(max_examples=25, deadline=None)
@given(
    asked=st.lists(st.tuples(st.integers(0, 5), st.sampled_from((0, 1, 4, 9, 10, 30))), max_size=12)
)
def test_a_sign_in_is_one_chain_of_tokens(alone: Bench, asked: list[tuple[int, int]]) -> None:
    """Whoever comes within the grace gets the end of the chain; whoever is late breaks it."""
    chain, replaced, is_over = [begin(alone)], list[float](), False
    now = 0.0
    for back, seconds in asked:
        at = max(0, len(chain) - 1 - back)
        found = renew(alone, chain[at])
        is_late = at < len(replaced) and now - replaced[at] >= GRACE_SECONDS
        is_over = is_over or is_late
        if is_over:
            assert found == 401
        elif at < len(replaced):
            assert found["refreshToken"] == chain[-1]
        else:
            assert found["refreshToken"] not in chain
            chain.append(found["refreshToken"])
            replaced.append(now)
        wait(alone, seconds=seconds)
        now += seconds


def test_a_token_dies_when_it_is_not_used_in_time(bench: Bench) -> None:
    token = begin(bench)
    wait(bench, days=30, seconds=1)
    assert renew(bench, token) == 401


def test_two_sign_ins_of_one_second_have_two_access_tokens(bench: Bench) -> None:
    found = [bench.run(BEGIN, {"user": "ada"})["token"] for _ in range(2)]
    assert found[0] != found[1]


def test_signing_out_ends_one_sign_in_or_all_of_a_user(bench: Bench) -> None:
    tokens = [begin(bench), begin(bench), begin(bench), begin(bench, "bob")]
    end = bench.client(END)
    bench.ask(end, {"token": tokens[0]})
    bench.ask(end, {"token": tokens[0]})
    assert renew(bench, tokens[0]) == 401
    tokens[1] = renew(bench, tokens[1])["refreshToken"]
    bench.ask(end, {"user": "ada"})
    assert [renew(bench, token) for token in tokens[1:3]] == [401, 401]
    assert renew(bench, tokens[3])["userId"] == "bob"


def test_only_hashes_are_kept_and_not_for_ever(bench: Bench) -> None:
    token = begin(bench)
    rows = bench.sql("SELECT hash, successor FROM _bbops_refresh_tokens")
    assert len(rows) == 1
    assert token not in str(rows)
    wait(bench, days=31)
    begin(bench)
    assert len(bench.sql("SELECT hash FROM _bbops_refresh_tokens")) == 1


@pytest.mark.parametrize("token", ["", "x", "rt_" + "a" * 40, "\ud800" * 3, "a" * 100_000])
def test_a_made_up_token_is_401(bench: Bench, token: str) -> None:
    client: Client = bench.client(RENEW)
    body = '{"token": "' + token.replace("\ud800", "\\ud800") + '"}'
    reply = bench.loop.run_until_complete(client.ask("POST", "/run", raw=body.encode()))
    assert reply.status in {400, 401}


def test_a_database_of_a_version_before_gets_the_tables(tmp_path: Path) -> None:
    with Bench(tmp_path, {}):
        pass
    path = tmp_path / "data.sqlite"
    with sqlite3.connect(path) as live:
        live.execute("DROP TABLE _bbops_refresh_tokens")
        live.execute("DROP TABLE _bbops_refresh_salts")
    with Bench(tmp_path, {}) as bench:
        assert renew(bench, begin(bench))["userId"] == "ada"


def test_a_made_up_token_takes_no_place_among_the_writes(bench: Bench, tmp_path: Path) -> None:
    client = bench.client(RENEW)
    with sqlite3.connect(tmp_path / "data.sqlite", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        asked = client.ask("POST", "/run", {"token": "rt_made_up"})
        assert bench.loop.run_until_complete(asked).status == 401, "503 if it waited for the lock"
        other.execute("ROLLBACK")
