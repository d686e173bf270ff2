"""API keys: made by a function, shown once, good for their channels until revoked or expired."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bbops.compiler.testing.client import Client, Reply
from bbops.database.migrate.opened import write_tables
from bbops.database.migrate.rollout import expand
from bbops.runtime.auth.api_keys import (
    KeyUses,
    check_channels,
    issue_key,
    list_keys,
    revoke_key,
    rotate_key,
)
from bbops.runtime.linking.lasting import Lasting
from bbops.runtime.steps.api_keys import ApiKeys
from bbops.runtime.values.failures import FlowError, Unavailable
from tests.support.postgres import DATABASES, place_of
from tests.support.workbench import Bench

FILES = {
    "channels/machines.yaml": (
        "name: Machines\nbasePath: /machines\nauthentication: API Key\nrateLimit: 50\n"
    ),
    "channels/others.yaml": "name: Others\nbasePath: /others\nauthentication: API Key\n",
    "functions/who.yaml": (
        "description: Who asks.\nsteps:\n  - return: { value: '${ vars.apiKey }' }\n"
    ),
    **{
        f"endpoints/{name}.yaml": (
            f"channel: {name}\nmethod: GET\npath: /who\nfunction: who\ndescription: Who asks.\n"
        )
        for name in ("machines", "others")
    },
}
MAKE = """
input: { expires?: string }
steps:
  - createApiKey:
      name: printer
      channels: [machines]
      claims: { room: 7 }
      expiresIn: ${ input.expires }
    as: made
  - return: { value: '${ vars.made }' }
"""
END = "input: { id: string }\nsteps:\n  - revokeApiKey: { id: '${ input.id }' }\n"


@pytest.fixture(params=DATABASES)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    with place_of(request, tmp_path) as place, Bench(place, FILES) as found:
        yield found


def who(bench: Bench, key: str, channel: str = "machines", *, query: bool = False) -> Reply:
    client: Client = bench.client(MAKE)
    path, headers = f"/{channel}/who", {"x-api-key": key}
    if query:
        path, headers = f"{path}?a=1&api_key={key}", {}
    return bench.loop.run_until_complete(client.ask("GET", path, headers=headers))


def later(bench: Bench, **given: float) -> None:
    clock: Any = bench.host.clock
    clock.moment += timedelta(**given)


@pytest.mark.parametrize("query", [False, True])
def test_a_key_says_who_asks(bench: Bench, *, query: bool) -> None:
    made = bench.run(MAKE, {})
    reply = who(bench, made["key"], query=query)
    assert reply.status == 200
    assert reply.json == {"id": made["id"], "name": "printer", "claims": {"room": 7}}


def test_a_key_opens_its_own_channels_only(bench: Bench) -> None:
    assert who(bench, bench.run(MAKE, {})["key"], "others").status == 401
    everywhere = bench.run(MAKE.replace("      channels: [machines]\n", ""), {})
    assert who(bench, everywhere["key"], "others").status == 200


@pytest.mark.parametrize("key", ["", "bk_", "bk_" + "a" * 40, "x" * 5_000, "ключ"])
def test_a_made_up_key_is_401(bench: Bench, key: str) -> None:
    client: Client = bench.client(MAKE)
    headers = {"x-api-key": key.encode().decode("latin-1")} if key else {}
    reply = bench.loop.run_until_complete(client.ask("GET", "/machines/who", headers=headers))
    assert (reply.status, reply.json["error"]["message"]) == (401, "a valid API key is needed")


def test_a_revoked_key_is_dead_within_seconds(bench: Bench) -> None:
    made = bench.run(MAKE, {})
    client = bench.client(MAKE)
    asked = {"headers": {"x-api-key": made["key"]}}
    get = lambda: bench.loop.run_until_complete(client.ask("GET", "/machines/who", **asked))  # noqa: E731
    assert get().status == 200
    bench.ask(bench.client(END), {"id": made["id"]})
    bench.ask(bench.client(END), {"id": made["id"]})
    later(bench, seconds=6)
    assert get().status == 401


def test_a_key_expires(bench: Bench) -> None:
    made = bench.run(MAKE, {"expires": "1h"})
    assert who(bench, made["key"]).status == 200
    later(bench, hours=1, seconds=1)
    assert who(bench, made["key"]).status == 401


def test_only_the_hash_of_a_key_is_kept(bench: Bench) -> None:
    made = bench.run(MAKE, {})
    (row,) = bench.sql("SELECT * FROM _bbops_api_keys")
    assert made["key"] not in str(row)
    assert made["key"][:9] in row


# ---- as those who give them out see them
def do(bench: Bench, work: Any) -> Any:
    return bench.loop.run_until_complete(work)


def issue(bench: Bench, *channels: str, lasts: float | None = None) -> dict[str, str]:
    made: dict[str, str] = do(
        bench, issue_key(bench.host, "printer", list(channels) or None, {"room": 7}, lasts)
    )
    return made


def test_a_key_of_whoever_runs_the_project_counts_as_one_of_a_function(bench: Bench) -> None:
    made = issue(bench, "machines")
    assert who(bench, made["key"]).json == {
        "id": made["id"], "name": "printer", "claims": {"room": 7},
    }  # fmt: skip
    assert who(bench, made["key"], "others").status == 401


def test_the_list_tells_all_but_the_key(bench: Bench) -> None:
    made, other = issue(bench, "machines", lasts=60.0), bench.run(MAKE, {})
    found = {one["id"]: one for one in do(bench, list_keys(bench.host))}
    assert found.keys() == {made["id"], other["id"]}
    one = found[made["id"]]
    assert (one["prefix"], one["channels"], one["claims"]) == (
        made["key"][:9], ["machines"], {"room": 7},
    )  # fmt: skip
    assert one["expires_at"] - one["created_at"] == 60.0
    assert made["key"] not in str(found)


def test_a_key_is_replaced_by_one_that_opens_the_same(bench: Bench) -> None:
    old = issue(bench, "machines", lasts=10 * 86_400.0)
    new = do(bench, rotate_key(bench.host, old["id"], 3_600.0))
    assert [who(bench, one["key"]).status for one in (old, new)] == [200, 200]
    assert who(bench, new["key"], "others").status == 401
    later(bench, hours=1, seconds=1)
    assert [who(bench, one["key"]).status for one in (old, new)] == [401, 200]
    later(bench, days=10)
    assert who(bench, new["key"]).status == 401


def test_a_key_may_be_replaced_at_once(bench: Bench) -> None:
    old = issue(bench)
    do(bench, rotate_key(bench.host, old["id"], 0.0))
    assert who(bench, old["key"]).status == 401
    with pytest.raises(FlowError, match="has already expired or been revoked"):
        do(bench, rotate_key(bench.host, old["id"], 0.0))


def test_a_key_that_ends_sooner_is_not_prolonged(bench: Bench) -> None:
    old = issue(bench, lasts=60.0)
    do(bench, rotate_key(bench.host, old["id"], 86_400.0))
    later(bench, seconds=61)
    assert who(bench, old["key"]).status == 401


def test_a_key_is_revoked_by_id_or_by_its_beginning(bench: Bench) -> None:
    first = issue(bench)
    assert do(bench, revoke_key(bench.host, first["key"][:9])) == first["id"]
    second = issue(bench)  # the chance of tests repeats itself: both begin alike
    with pytest.raises(FlowError, match="several API keys begin with"):
        do(bench, revoke_key(bench.host, second["key"][:9]))
    do(bench, revoke_key(bench.host, second["id"]))
    assert [who(bench, one["key"]).status for one in (first, second)] == [401, 401]
    with pytest.raises(FlowError, match="there is no API key 'bk_none'"):
        do(bench, revoke_key(bench.host, "bk_none"))


def test_only_channels_that_take_keys_are_named() -> None:
    check_channels(["a"], ["a", "b"])
    with pytest.raises(FlowError, match="channel 'c' takes no API keys; those that do: a, b"):
        check_channels(["c"], ["b", "a"])
    with pytest.raises(FlowError, match="no channel of the project takes API keys"):
        check_channels([], [])


# ---- when it was used last
def test_a_use_is_written_down_later_and_the_latest_counts(bench: Bench) -> None:
    used, other = issue(bench, "machines"), issue(bench, "machines")
    lasting = Lasting()
    keys = ApiKeys(bench.door, bench.host.clock, lasting.key_uses)
    assert do(bench, keys.verify(used["key"], "machines")) is not None
    assert do(bench, keys.verify(other["key"], "others")) is None
    assert uses(bench) == {used["id"]: None, other["id"]: None}
    do(bench, lasting.key_uses.write_down(bench.door))
    first = uses(bench)[used["id"]]
    assert (first, uses(bench)[other["id"]]) == (bench.host.clock.now().timestamp(), None)
    later(bench, seconds=2)
    do(bench, keys.verify(used["key"], "machines"))  # as it is remembered
    do(bench, lasting.key_uses.write_down(bench.door))
    assert uses(bench)[used["id"]] == first + 2
    behind = KeyUses()
    behind.note(used["id"], first)
    do(bench, behind.write_down(bench.door))
    assert uses(bench)[used["id"]] == first + 2


def test_a_use_that_cannot_be_written_down_waits_for_the_next_time(bench: Bench) -> None:
    class Busy:
        async def write_all(self, statements: Any) -> None:
            noted.note(key["id"], 9.0)
            raise Unavailable("busy", "the database is busy", hint="", retry_seconds=1)

    key, noted = issue(bench), KeyUses()
    noted.note(key["id"], 7.0)
    do(bench, noted.write_down(Busy()))
    do(bench, noted.write_down(bench.door))
    assert uses(bench)[key["id"]] == 9.0


def test_a_database_of_an_older_bbops_is_completed(bench: Bench) -> None:
    with write_tables(bench.place) as opened:
        live: Any = opened.live
        opened.transact(lambda: live._live.execute("DROP TABLE _bbops_api_key_uses"))
    expand(bench.place, bench.tables)
    assert uses(bench) == {}


def uses(bench: Bench) -> dict[str, float | None]:
    return {one["id"]: one["used_at"] for one in do(bench, list_keys(bench.host))}


# ---- limits
LIMITED = {**FILES, "channels/machines.yaml": FILES["channels/machines.yaml"].replace("50", "2")}


@pytest.mark.parametrize("more", ["", " by: address"])
def test_a_limit_counts_each_key_or_each_address(tmp_path: Path, more: str) -> None:
    files = dict(LIMITED)
    if more:
        limit = "rateLimit: { limit: 2, by: address }"
        files["channels/machines.yaml"] = files["channels/machines.yaml"].replace(
            "rateLimit: 2", limit
        )
    with Bench(tmp_path, files) as bench:
        client = bench.client(MAKE)
        one, other = issue(bench, "machines")["key"], issue(bench, "machines")["key"]
        first = [status_of(bench, client, one) for _ in range(3)]
        assert first == [200, 200, 429]
        assert status_of(bench, client, other) == (429 if more else 200)


def test_calls_without_a_valid_key_count_by_address_and_take_nothing_from_a_key(
    tmp_path: Path,
) -> None:
    with Bench(tmp_path, LIMITED) as bench:
        client, key = bench.client(MAKE), issue(bench, "machines")["key"]
        made_up = [status_of(bench, client, f"bk_{one}") for one in "abc"]
        assert made_up == [401, 401, 429]
        assert status_of(bench, client, key) == 200


def status_of(bench: Bench, client: Client, key: str) -> int:
    headers = {"x-api-key": key}
    return bench.loop.run_until_complete(client.ask("GET", "/machines/who", headers=headers)).status
