"""parallel: branches at the same time, which share nothing that one of them sets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bbops.base.errors import ProjectError
from tests.conftest import NOTES, with_function
from tests.support.workbench import BegunDoor, Bench

pytestmark = pytest.mark.quick

Ask = Callable[..., Any]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Bench(tmp_path, {"tables/notes.yaml": NOTES}) as found:
        yield found


LONG = "loop: { over: range(50000), steps: [find: { table: notes, where: id == 0 }] }"


def test_a_failing_branch_cancels_the_others_and_its_error_is_caught(bench: Bench) -> None:
    function = f"""
steps:
  - try:
      - parallel:
          long:
            - try:
                - {LONG}
              finally:
                - update: {{ table: notes, where: id == 1, data: {{ title: cancelled }} }}
          fails:
            - find: {{ table: notes, where: id == 99, one: required }}
    catch:
      - return: {{ value: "${{ error.code }} ${{ error.step }}" }}
"""
    assert bench.run(function) == "notFound functions/run.yaml:11"
    assert bench.sql("SELECT title FROM notes WHERE id = 1") == [("cancelled",)]


def test_a_cancelled_request_cancels_all_branches(bench: Bench) -> None:
    door = BegunDoor(bench.door)
    client = bench.client(f"steps:\n  - parallel: {{ a: [{LONG}], b: [{LONG}] }}\n", door)

    async def cancel() -> int:
        task = asyncio.ensure_future(client.ask("POST", "/run"))
        await door.begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return len(asyncio.all_tasks())

    assert bench.loop.run_until_complete(cancel()) == 1


def test_branches_keep_what_they_set_and_their_results(bench: Bench) -> None:
    function = """
input: { number: integer }
steps:
  - set: { before: 1 }
  - parallel:
      a:
        - set: { x: "${ vars.before + input.number }" }
        - parallel:
            inner: [set: { y: "${ vars.x + 1 }" }]
      b:
        - insert: { table: notes, data: { title: "${ now() | date('%Y') }" } }
          as: note
    as: both
  - return: { value: ["${ vars.x }", "${ vars.y }", "${ vars.both.b.title }", "${ vars.both.a }"] }
"""
    assert bench.run(function, {"number": 2}) == [3, 4, "2026", None]


@pytest.mark.long
def test_all_branches_together_have_the_fuel_of_one_run(bench: Bench) -> None:
    spin = "loop: { over: range(60000), steps: [log: { message: a, level: debug }] }"
    function = f"steps:\n  - parallel: {{ a: [{spin}], b: [{spin}] }}\n"
    assert bench.ask(bench.client(function)).status == 500


@pytest.mark.parametrize(
    ("branches", "message"),
    [
        ("a: [set: { x: 1 }], b: [set: { x: 2 }]", "branch 'b' uses 'vars.x', which branch 'a'"),
        ("a: [set: { z: 1 }], b: [log: { message: '${ vars.z }' }]", "branch 'b' uses 'vars.z'"),
        ("a: [return: { value: 1 }]", "'return' is not allowed inside 'parallel'"),
        ("a: [{ if: true, then: [set: { y: 1 }] }], b: [log: { message: a }]",
         "not set on every path"),
        ("{}", "must not be empty"),
    ],
)  # fmt: skip
def test_misuse_is_refused(ask: Ask, branches: str, message: str) -> None:
    last = "'${ vars.y }'" if "y: 1" in branches else "'${ vars.z }'"
    given = branches if branches == "{}" else f"{{ {branches} }}"
    steps = f"steps:\n  - set: {{ z: a }}\n  - parallel: {given}\n  - return: {{ value: {last} }}\n"
    with pytest.raises(ProjectError, match=message):
        ask(with_function(steps), "POST", "/run")
