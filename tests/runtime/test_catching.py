"""try, catch, finally, timeout and retry: what an error does, and what it leaves alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bbops.base.errors import ProjectError
from bbops.compiler.testing.host import CountingRandom
from bbops.runtime.steps.blocks import Attempts
from bbops.runtime.values.failures import FlowError, Thrown, Unavailable
from tests.conftest import NOTES, with_function
from tests.support.workbench import BegunDoor, Bench

Ask = Callable[..., Any]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    files = {"tables/notes.yaml": NOTES.replace("maxLength: 40", "maxLength: 40, unique: true")}
    files["functions/loop-back.yaml"] = """
steps:
  - if: random(1, 2) > 0
    then: [{ call: { function: loop-back } }]
"""
    files["functions/refuse.yaml"] = "steps:\n  - throw: { status: 418, message: No }\n"
    with Bench(tmp_path, files) as found:
        yield found


def caught(steps: str, value: str = "${ error }") -> str:
    return f"""
input: {{ any?: json, text?: string }}
steps:
  - try:
      - {steps}
    catch:
      - return: {{ value: "{value}" }}
  - return: {{ value: went well }}
"""


def test_catch_sees_what_the_database_refused(bench: Bench) -> None:
    found = bench.run(caught("insert: { table: notes, data: { title: one } }"))
    assert (found["code"], found["table"], found["columns"]) == ("unique", "notes", ["title"])
    assert (found["status"], found["step"]) == (409, "functions/run.yaml:5")


def test_catch_sees_what_a_called_function_throws(bench: Bench) -> None:
    found = bench.run(caught("call: { function: refuse }"))
    assert (found["code"], found["message"], found["status"]) == ("imATeapot", "No", 418)
    assert found["step"] == "functions/refuse.yaml:2"


def test_catch_sees_a_value_of_the_wrong_kind(bench: Bench) -> None:
    found = bench.run(caught("set: { a: '${ input.any + 1 }' }"), {"any": "x"})
    assert (found["code"], found["status"]) == ("invalidInput", 400)


def test_without_an_error_catch_is_passed_over(bench: Bench) -> None:
    assert bench.run(caught("log: { message: a }")) == "went well"


def test_an_endless_run_cannot_be_caught(bench: Bench) -> None:
    reply = bench.ask(bench.client(caught("call: { function: loop-back }", "on it goes")))
    assert reply.status == 500


def test_throw_without_anything_throws_the_same_error_again(bench: Bench) -> None:
    function = """
steps:
  - try:
      - throw: { status: 409, value: { taken: true }, headers: { x-why: taken } }
    catch:
      - throw: {}
"""
    reply = bench.ask(bench.client(function))
    assert (reply.status, reply.json, reply.headers["x-why"]) == (409, {"taken": True}, "taken")


@pytest.mark.parametrize(
    "steps",
    ["return: { value: 1 }", "throw: { status: 404 }", "log: { message: a }",
     "call: { function: refuse }"],
)  # fmt: skip
def test_finally_runs_whatever_happens(bench: Bench, steps: str) -> None:
    function = f"""
steps:
  - try:
      - {steps}
    finally:
      - update: {{ table: notes, where: id == 1, data: {{ done: true }} }}
"""
    bench.ask(bench.client(function))
    assert bench.sql("SELECT done FROM notes WHERE id = 1") == [(1,)]


def test_a_return_in_catch_waits_for_finally(bench: Bench) -> None:
    function = """
steps:
  - try:
      - throw: { status: 404 }
    catch:
      - return: { value: "${ error.code }" }
    finally:
      - delete: { table: notes, where: id == 2 }
"""
    assert bench.run(function) == "notFound"
    assert bench.sql("SELECT count(*) FROM notes") == [(2,)]


SLOW = """
input: { n: integer }
steps:
  - try:
      - loop:
          over: range(input.n)
          steps:
            - loop: { over: "range(90)", steps: [find: { table: notes, where: id == 0 }] }
    catch:
      - return: { value: caught }
    finally:
      - update: { table: notes, where: id == 1, data: { done: true } }
      - throw: { status: 410 }
"""


def test_the_end_of_a_request_is_not_caught_and_not_hidden(bench: Bench) -> None:
    door = BegunDoor(bench.door)
    client = bench.client(SLOW, door)

    async def cancel() -> None:
        task = asyncio.ensure_future(client.ask("POST", "/run", {"n": 900}))
        await door.begun.wait()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        bench.loop.run_until_complete(cancel())
    assert bench.sql("SELECT done FROM notes WHERE id = 1") == [(1,)]


def test_a_step_that_is_late_can_be_caught(bench: Bench) -> None:
    found = bench.run(
        """
input: { n: integer }
steps:
  - try:
      - loop: { over: range(input.n), steps: [find: { table: notes, where: id == 0 }] }
        timeout: 20ms
    catch:
      - return: { value: "${ error.code }" }
""",
        {"n": 90_000},
    )
    assert found == "timeout"


def attempts(error: Exception, most: int = 3) -> int:
    """Count how often something that always fails is tried."""

    run = SimpleNamespace(host=SimpleNamespace(random=CountingRandom(), record=None))

    async def all_of_them() -> int:
        tries, count = Attempts(most, 0.001, 2), 0
        while True:
            count += 1
            try:
                await tries.wait(run, error)  # type: ignore[arg-type]
            except type(error):
                return count

    return asyncio.run(all_of_them())


def test_what_may_pass_is_tried_again() -> None:
    assert attempts(Unavailable("storageBusy", "busy", hint="", retry_seconds=1)) == 3
    assert attempts(Thrown(503), 2) == 2


def test_what_would_come_again_is_not() -> None:
    assert attempts(FlowError("no")) == 1
    assert attempts(Thrown(404)) == 1


def test_retry_runs_a_step_again(bench: Bench) -> None:
    bench.files["functions/fails.yaml"] = """
steps:
  - insert: { table: notes, data: { title: "${ uuid() }" } }
  - throw: { status: 503 }
"""
    function = """
steps:
  - call: { function: fails }
    retry: { attempts: 4, backoff: 1ms }
"""
    assert bench.ask(bench.client(function)).status == 503
    assert bench.sql("SELECT count(*) FROM notes") == [(3 + 4,)]


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ("- set: { a: 1 }\n    retry: {}", "neither 'timeout' nor 'retry'"),
        ("- if: true\n    then: [log: { message: a }]\n    retry: {}", "no 'retry'"),
        ("- try: [log: { message: a }]", "needs 'catch' or 'finally'"),
        ("- try: [log: { message: a }]\n    finally: [return: {}]", "is not allowed inside"),
        ("- return: { value: '${ error.code }' }", "it exists only inside 'catch'"),
    ],
)  # fmt: skip
def test_misuse_is_refused(ask: Ask, steps: str, message: str) -> None:
    with pytest.raises(ProjectError, match=message):
        ask(with_function(f"steps:\n  {steps}\n"), "POST", "/run")
