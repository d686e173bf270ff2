"""cache and forget: steps run once, for a time, and what is made is never of another type."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bbops.runtime.flow.caching import MAX_KEYS
from tests.conftest import NOTES
from tests.support.workbench import Bench

COUNTED = """
input: { key: string, fail?: boolean }
steps:
  - cache:
      key: ${ input.key }
      for: 1m
      steps:
        - insert: { table: notes, data: { title: made } }
        - if: input.fail | default(false)
          then: [throw: { status: 409 }]
        - find: { table: notes }
          as: notes
      value: ${ vars.notes | length }
    as: count
  - return: { value: "${ vars.count }" }
"""


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Bench(tmp_path, {"tables/notes.yaml": NOTES}) as found:
        yield found


def together(bench: Bench, client: Any, *bodies: Any) -> list[Any]:
    async def ask() -> list[Any]:
        replies = await asyncio.gather(*(client.ask("POST", "/run", body) for body in bodies))
        return [reply.json if reply.status == 200 else reply.status for reply in replies]

    return bench.loop.run_until_complete(ask())


def test_many_who_ask_at_once_wait_for_one(bench: Bench) -> None:
    client = bench.client(COUNTED)
    assert together(bench, client, *[{"key": "a"}] * 20) == [4] * 20
    assert together(bench, client, {"key": "a"}, {"key": "b"}) == [4, 5]


def test_a_value_is_kept_for_its_time(bench: Bench) -> None:
    client = bench.client(COUNTED)
    assert together(bench, client, {"key": "a"}) == [4]
    bench.host.clock.moment += timedelta(seconds=59)  # type: ignore[attr-defined]
    assert together(bench, client, {"key": "a"}) == [4]
    bench.host.clock.moment += timedelta(seconds=1)  # type: ignore[attr-defined]
    assert together(bench, client, {"key": "a"}) == [5]


def test_what_fails_is_not_kept_and_holds_nobody_up(bench: Bench) -> None:
    client = bench.client(COUNTED)
    found = together(bench, client, {"key": "a", "fail": True}, {"key": "a"}, {"key": "a"})
    assert found == [409, 5, 5]


def test_a_cancelled_maker_leaves_its_place_to_the_next(bench: Bench) -> None:
    client = bench.client(COUNTED)

    async def ask() -> Any:
        first = asyncio.ensure_future(client.ask("POST", "/run", {"key": "a"}))
        second = asyncio.ensure_future(client.ask("POST", "/run", {"key": "a"}))
        await asyncio.sleep(0)
        first.cancel()
        return (await asyncio.wait_for(second, 5)).status

    assert bench.loop.run_until_complete(ask()) == 200


def test_forget_drops_a_value(bench: Bench) -> None:
    function = COUNTED.replace(
        "steps:\n  -", "steps:\n  - forget: { key: '${ input.key }' }\n  -", 1
    )
    client = bench.client(function)
    assert together(bench, client, {"key": "a"}) == [4]
    assert together(bench, client, {"key": "a"}) == [5]


def test_two_steps_with_one_key_keep_two_values(bench: Bench) -> None:
    function = """
steps:
  - cache: { key: a, for: 1m, value: 1 }
    as: one
  - cache: { key: a, for: 1m, value: text }
    as: two
  - return: { value: "${ vars.one + 1 } ${ vars.two | upper }" }
"""
    assert bench.run(function) == "2 TEXT"


def test_a_value_that_is_made_of_itself_does_not_wait_for_itself(bench: Bench) -> None:
    bench.files["functions/deep.yaml"] = """
input: { depth: integer }
steps:
  - cache:
      key: same
      for: 1m
      steps:
        - if: input.depth > 0
          then:
            - call: { function: deep, input: { depth: "${ input.depth - 1 }" } }
      value: ${ input.depth }
    as: depth
  - return: { value: "${ vars.depth }" }
"""
    function = """
steps:
  - call: { function: deep, input: { depth: 3 } }
    as: depth
  - return: { value: "${ vars.depth }" }
"""
    assert bench.run(function) == 3


def test_keys_are_bounded(bench: Bench) -> None:
    client = bench.client(COUNTED.replace("insert: { table: notes, data: { title: made } }",
                                          "log: { message: made }"))  # fmt: skip
    together(bench, client, *({"key": str(number)} for number in range(MAX_KEYS + 50)))
    assert len(client.release.answering.make_run.cache.kept) == MAX_KEYS
