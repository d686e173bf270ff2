"""Idempotency-Key: a request with a key is carried out once, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bbops.compiler.testing.client import Client, Reply
from bbops.runtime.http.idempotency import KEPT_SECONDS
from tests.conftest import NOTES, with_function
from tests.support.contracts import contract_of
from tests.support.postgres import DATABASES, ON_SQLITE, place_of
from tests.support.raw_requests import token
from tests.support.workbench import Bench

ADD = """
input: { title: string, n?: integer }
steps:
  - insert: { table: notes, data: { title: '${ input.title }' } }
    as: note
  - return: { status: 201, value: '${ vars.note.title }', headers: { x-own: yes } }
"""
THROW = "  - throw: { status: 402, message: no money }\n"
FAIL = "  - loop: { while: input.n == null, max: 1, steps: [log: { message: a }] }\n"
START = "input: { title?: string, n?: json }\nsteps:\n"
WRITE = "  - insert: { table: notes, data: { title: again } }\n"
ENDPOINT = "method: POST\npath: /run\nfunction: run\nauthentication: {}\nidempotency: true\n"


@pytest.fixture(params=DATABASES)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    files = {"tables/notes.yaml": NOTES, "endpoints/run.yaml": ENDPOINT.format("None")}
    with place_of(request, tmp_path) as place, Bench(place, files) as found:
        yield found


def ask(
    bench: Bench, client: Client, body: Any, key: str | None = "k1", **headers: str
) -> Reply:  # fmt: skip
    given: Mapping[str, str] = ({"idempotency-key": key} if key is not None else {}) | headers
    return bench.loop.run_until_complete(client.ask("POST", "/run", body, headers=given))


def titles(bench: Bench) -> list[Any]:
    return [row[0] for row in bench.sql("SELECT title FROM notes WHERE id > 3 ORDER BY id")]


def test_the_same_again_has_the_first_answer_and_runs_nothing(bench: Bench) -> None:
    client = bench.client(ADD)
    first, second = (ask(bench, client, {"title": "a"}) for _ in range(2))
    assert (first.status, first.json, first.headers["x-own"]) == (201, "a", "yes")
    assert (second.status, second.body, second.headers["x-own"]) == (201, first.body, "yes")
    assert second.headers["content-type"] == "application/json"
    assert "idempotency-replayed" not in first.headers
    assert second.headers["idempotency-replayed"] == "true"
    assert titles(bench) == ["a"]


def test_another_release_and_process_know_it_too(bench: Bench) -> None:
    ask(bench, bench.client(ADD), {"title": "a"})
    changed = bench.client(ADD.replace("201", "200"))
    assert ask(bench, changed, {"title": "a"}).status == 201


def test_without_a_key_and_with_another_it_runs(bench: Bench) -> None:
    client = bench.client(ADD)
    for key in (None, None, "k1", '"k2"', "k3"):
        assert ask(bench, client, {"title": "a"}, key).status == 201
    assert len(titles(bench)) == 5
    assert ask(bench, client, {"title": "a"}, '"k1"').headers["idempotency-replayed"] == "true"


def test_another_request_with_the_key_is_refused(bench: Bench) -> None:
    client = bench.client(ADD)
    ask(bench, client, {"title": "a"})
    reply = ask(bench, client, {"title": "b"})
    assert (reply.status, reply.json["error"]["code"]) == (422, "keyReused")
    assert titles(bench) == ["a"]
    # what the steps cannot see makes no difference
    assert ask(bench, client, {"title": "a", "unknown": 1}).status == 201


def test_of_two_at_once_one_runs(bench: Bench) -> None:
    client = bench.client(ADD)
    headers = {"idempotency-key": "k1"}

    async def both() -> list[Reply]:
        asked = (client.ask("POST", "/run", {"title": "a"}, headers=headers) for _ in range(5))
        return await asyncio.gather(*asked)

    replies = bench.loop.run_until_complete(both())
    statuses = [one.status for one in replies]
    assert {*statuses} <= {201, 409}
    assert [one.headers.get("idempotency-replayed") for one in replies if one.status == 201].count(
        None
    ) == 1
    for one in replies:
        if one.status == 409:
            assert one.json["error"]["code"] == "requestUnderWay"
            assert one.headers["retry-after"] == "1"
    assert titles(bench) == ["a"]


def test_a_failure_that_changed_nothing_forgets_the_key(bench: Bench) -> None:
    client = bench.client(f"{START}{FAIL}")
    assert ask(bench, client, {}).status == 500
    assert ask(bench, client, {"n": 2}).status == 200


def test_a_refusal_that_changed_nothing_forgets_it_too(bench: Bench) -> None:
    assert ask(bench, bench.client(f"{START}{THROW}"), {}).status == 402
    assert ask(bench, bench.client(ADD), {"title": "a"}).status == 201


def test_a_refusal_after_a_change_is_kept(bench: Bench) -> None:
    client = bench.client(f"{START}{WRITE}{THROW}")
    first, second = (ask(bench, client, {}) for _ in range(2))
    assert (first.status, second.status, second.json) == (402, 402, first.json)
    assert titles(bench) == ["again"]


def test_a_failure_after_a_change_is_never_run_again(bench: Bench) -> None:
    client = bench.client(f"{START}{WRITE}{FAIL}")
    assert ask(bench, client, {}).status == 500
    again = ask(bench, client, {})
    assert (again.status, again.json["error"]["code"]) == (409, "outcomeUnknown")
    assert titles(bench) == ["again"]


def test_what_is_rolled_back_was_no_change(bench: Bench) -> None:
    steps = f"  - transaction:\n    {WRITE.strip()}\n    {FAIL.strip()}\n"
    client = bench.client(f"{START}{steps.replace('    - ', '      - ')}")
    assert ask(bench, client, {}).status == 500
    assert titles(bench) == []
    assert ask(bench, client, {"n": 1}).status == 200
    assert titles(bench) == ["again"]


def test_a_broken_rule_was_no_change(bench: Bench) -> None:
    twice = "  - insert: { table: notes, data: { id: '${ input.n }', title: x } }\n"
    client = bench.client(f"input: {{ n: integer }}\nsteps:\n{twice}")
    assert ask(bench, client, {"n": 1}).status == 409
    assert ask(bench, client, {"n": 9}).status == 200


@ON_SQLITE
def test_a_process_that_died_in_between_leaves_an_honest_answer(bench: Bench) -> None:
    client = bench.client(ADD)
    ask(bench, client, {"title": "a"})
    bench.sql("UPDATE _bbops_idempotency SET answer = NULL")  # as if it had died before keeping it
    assert ask(bench, client, {"title": "a"}).json["error"]["code"] == "requestUnderWay"
    bench.host.clock.moment += timedelta(seconds=36)
    assert ask(bench, client, {"title": "a"}).json["error"]["code"] == "outcomeUnknown"
    assert titles(bench) == ["a"]


@ON_SQLITE
def test_a_key_is_forgotten_after_a_day(bench: Bench) -> None:
    client = bench.client(ADD)
    ask(bench, client, {"title": "a"})
    bench.host.clock.moment += timedelta(seconds=KEPT_SECONDS + 1)
    assert "idempotency-replayed" not in ask(bench, client, {"title": "b"}).headers
    assert bench.sql("SELECT count(*) FROM _bbops_idempotency") == [(1,)]


@ON_SQLITE
def test_a_request_that_is_late_after_a_change_is_never_run_again(bench: Bench) -> None:
    sleep = "  - hashPassword: { password: a, rounds: 12 }\n"
    bench.files["endpoints/run.yaml"] += "timeout: 50ms\n"
    client = bench.client(f"{START}{WRITE}{sleep}")

    async def late() -> Reply:
        client.release.active_requests.loop = asyncio.get_running_loop()
        sweeping = asyncio.create_task(client.release.active_requests.keep_sweeping())
        headers = {"idempotency-key": "k1"}
        reply = await client.ask("POST", "/run", {}, headers=headers)
        sweeping.cancel()
        return reply

    assert bench.loop.run_until_complete(late()).status == 503
    assert ask(bench, client, {}).json["error"]["code"] == "outcomeUnknown"
    assert titles(bench) == ["again"]


@ON_SQLITE
@pytest.mark.parametrize("key", ['""', "a b", '"a', "ü", "x" * 256, '"x', "a,b\x7f"])
def test_what_is_no_key_answers_400(bench: Bench, key: str) -> None:
    reply = ask(bench, bench.client(ADD), {"title": "a"}, key)
    assert (reply.status, reply.json["error"]["code"]) == (400, "invalidInput")


@ON_SQLITE
def test_keys_of_users_are_their_own(bench: Bench) -> None:
    bench.files["endpoints/run.yaml"] = ENDPOINT.format("JWT")
    client = bench.client(ADD)
    for user in ("ada", "bob"):
        reply = ask(bench, client, {"title": user}, **token(sub=user))
        assert (reply.status, reply.json) == (201, user)
    again = ask(bench, client, {"title": "ada"}, **token(sub="ada"))
    assert (again.json, again.headers["idempotency-replayed"]) == ("ada", "true")


@ON_SQLITE
def test_a_function_that_is_called_counts_too(bench: Bench) -> None:
    bench.files["functions/inner.yaml"] = f"steps:\n{WRITE}"
    client = bench.client(f"{START}  - call: {{ function: inner }}\n{FAIL}")
    assert ask(bench, client, {}).status == 500
    assert ask(bench, client, {}).json["error"]["code"] == "outcomeUnknown"


@ON_SQLITE
def test_an_endpoint_that_does_not_ask_for_it_knows_no_keys(bench: Bench) -> None:
    bench.files = dict(bench.files)
    bench.files["endpoints/run.yaml"] = ENDPOINT.format("None").replace("idempotency: true\n", "")
    assert ask(bench, bench.client(ADD), {"title": "a"}, "a b").status == 201


def test_the_contract_tells_of_it() -> None:
    files = with_function(ADD)
    files["endpoints/run.yaml"] += "idempotency: true\n"
    (found,) = contract_of(files).operations
    assert [one.name for one in found.parameters] == ["idempotency-key"]
    assert {409, 422} <= {one.status for one in found.answers}
