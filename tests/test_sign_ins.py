"""Refresh tokens: each is used once, and one that is used twice ends the sign-in."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bbops.testing.client import Client
from tests.postgres import DATABASES, place_of
from tests.workbench import Bench

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


def test_a_token_that_is_used_again_ends_the_sign_in_and_no_other(bench: Bench) -> None:
    first, other = begin(bench), begin(bench)
    second = renew(bench, first)["refreshToken"]
    assert renew(bench, first) == 401
    assert renew(bench, second) == 401
    assert renew(bench, other)["userId"] == "ada"


def test_one_of_many_who_use_a_token_at_once_gets_the_next(bench: Bench) -> None:
    token, client = begin(bench), bench.client(RENEW)

    async def all_at_once() -> list[int]:
        asked = (client.ask("POST", "/run", {"token": token}) for _ in range(8))
        return [reply.status for reply in await asyncio.gather(*asked)]

    assert sorted(bench.loop.run_until_complete(all_at_once())) == [200] + [401] * 7


def test_a_token_dies_when_it_is_not_used_in_time(bench: Bench) -> None:
    token = begin(bench)
    clock: Any = bench.host.clock
    clock.moment += timedelta(days=30, seconds=1)
    assert renew(bench, token) == 401


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
    clock: Any = bench.host.clock
    clock.moment += timedelta(days=31)
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
    with Bench(tmp_path, {}) as bench:
        assert renew(bench, begin(bench))["userId"] == "ada"


def test_a_made_up_token_takes_no_place_among_the_writes(bench: Bench, tmp_path: Path) -> None:
    client = bench.client(RENEW)
    with sqlite3.connect(tmp_path / "data.sqlite", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        asked = asyncio.wait_for(client.ask("POST", "/run", {"token": "rt_made_up"}), 2)
        assert bench.loop.run_until_complete(asked).status == 401
        other.execute("ROLLBACK")
