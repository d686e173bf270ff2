"""transaction: wholly or not at all, one after the other, and never in the loop's way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bbops.base.errors import ProjectError
from bbops.compiler.compile.release import build
from bbops.database.sqlite.driver import Sqlite
from bbops.runtime.values.failures import FlowError
from bbops.source.tree import MemoryTree
from tests.conftest import NOTES, with_function
from tests.support.patience import patience
from tests.support.postgres import DATABASES, ON_SQLITE, place_of
from tests.support.workbench import BegunDoor, Bench

pytestmark = pytest.mark.quick

Ask = Callable[..., Any]
ADD = """
input: { title: string }
steps:
  - insert: { table: notes, data: { title: "${ input.title }" } }
  - find: { table: notes }
    as: notes
  - return: { value: "${ vars.notes | length }" }
"""
COUNT = """
steps:
  - transaction:
      - find: { table: notes, where: id == 1, one: required }
        as: note
      - update:
          table: notes
          where: id == 1
          data: { title: "${ ((vars.note.title | toNumber | default(0)) + 1) | toString }" }
"""


@pytest.fixture(params=DATABASES)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    files = {"tables/notes.yaml": NOTES, "functions/add.yaml": ADD}
    with place_of(request, tmp_path) as place, Bench(place, files) as found:
        yield found


def titles(bench: Bench) -> list[str]:
    return [title for (title,) in bench.sql("SELECT title FROM notes ORDER BY id")]


def failing(last: str) -> str:
    return f"""
steps:
  - transaction:
      - delete: {{ table: notes, where: id > 1 }}
      - call: {{ function: add, input: {{ title: called }} }}
        as: inside
      - emit: {{ event: note.added, payload: {{ inside: "${{ vars.inside }}" }} }}
      - {last}
  - find: {{ table: notes }}
    as: notes
  - return: {{ value: "${{ vars.notes | length }}" }}
"""


def test_a_transaction_commits_at_its_end(bench: Bench) -> None:
    assert bench.run(failing("log: { message: fine }")) == 2
    assert titles(bench) == ["one", "called"]
    assert bench.host.events.emitted == [("note.added", {"inside": 2})]  # type: ignore[union-attr]


def test_a_return_commits(bench: Bench) -> None:
    assert bench.run(failing("return: { value: early }")) == "early"
    assert titles(bench) == ["one", "called"]


@pytest.mark.parametrize(
    "last", ["throw: { status: 409 }", "insert: { table: notes, data: { id: 1, title: again } }"]
)
def test_an_error_undoes_everything_and_goes_on(bench: Bench, last: str) -> None:
    assert bench.ask(bench.client(failing(last))).status == 409
    assert titles(bench) == ["one", "two", "three"]
    assert bench.host.events.emitted == []  # type: ignore[union-attr]


def test_a_failed_step_that_is_caught_inside_undoes_only_itself(bench: Bench) -> None:
    steps = """try:
          - insert: { table: notes, data: { id: 1, title: again } }
        catch:
          - insert: { table: notes, data: { title: "${ error.code }" } }"""
    assert bench.run(failing(steps)) == 3
    assert titles(bench) == ["one", "called", "unique"]


def test_more_matches_than_one_change_nothing_in_a_transaction(bench: Bench) -> None:
    steps = """try:
          - update: { table: notes, where: true, data: { title: all }, one: true }
        catch:
          - log: { message: caught }"""
    assert bench.run(failing(steps)) == 2
    assert titles(bench) == ["one", "called"]


@pytest.mark.long
def test_crowding_transactions_lose_no_update(bench: Bench) -> None:
    client = bench.client(COUNT)

    async def crowd() -> list[int]:
        replies = await asyncio.gather(*(client.ask("POST", "/run") for _ in range(60)))
        return [reply.status for reply in replies]

    assert set(bench.loop.run_until_complete(crowd())) == {200}
    assert titles(bench)[0] == "60"


def test_other_writes_wait_for_a_transaction_and_the_loop_does_not(bench: Bench) -> None:
    async def contend() -> tuple[list[Any], int]:
        beats = 0
        async with bench.door.transaction() as transaction:
            await transaction.write("UPDATE notes SET title = 'a' WHERE id = 1")
            other = asyncio.ensure_future(bench.door.write("UPDATE notes SET title = title || 'b'"))
            while beats < 50:
                await asyncio.sleep(0.001)
                beats += 1
            assert not other.done()
            seen = await bench.door.read("SELECT title FROM notes WHERE id = 1")
        await other
        return seen, beats

    assert bench.loop.run_until_complete(contend()) == ([("one",)], 50)
    assert titles(bench)[0] == "ab"


@pytest.mark.parametrize("turns", [0, 3, 30])
def test_a_cancelled_transaction_leaves_nothing_and_lets_the_next_one_in(
    bench: Bench, turns: int
) -> None:
    door = BegunDoor(bench.door)
    loop = "loop: { over: range(3000), steps: [find: { table: notes }] }"
    client = bench.client(failing(loop), door)

    async def cancel() -> None:
        task = asyncio.ensure_future(client.ask("POST", "/run"))
        if turns:
            await door.begun.wait()
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with patience():
            await bench.door.write("UPDATE notes SET title = '!' WHERE id = 1")

    bench.loop.run_until_complete(cancel())
    assert titles(bench) == ["!", "two", "three"]


def test_a_step_ended_halfway_loses_the_transaction(bench: Bench) -> None:
    slow = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"

    async def late() -> None:
        async with bench.door.transaction() as transaction:
            await transaction.write("DELETE FROM notes")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(transaction.rows(slow), 0.02)

    with pytest.raises(FlowError, match="rolled back"):
        bench.loop.run_until_complete(late())
    assert len(titles(bench)) == 3


@ON_SQLITE
def test_a_transaction_of_another_process_is_waited_for(bench: Bench, tmp_path: Path) -> None:
    async def both() -> None:
        other = await Sqlite.open(tmp_path / "data.sqlite")  # a second gate, as another process has
        order: list[str] = []

        async def change(door: Sqlite, name: str) -> None:
            async with door.transaction() as transaction:
                await transaction.write("UPDATE notes SET title = title || '!'")
                await asyncio.sleep(0.01)
                order.append(name)

        await asyncio.gather(*(change(door, "x") for door in (bench.door, other) * 5))
        assert len(order) == 10
        await other.close()

    bench.loop.run_until_complete(both())
    assert titles(bench)[0] == "one" + "!" * 10


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("hashPassword: { password: a }", "'hashPassword' is not allowed inside a transaction"),
        ("transaction: [log: { message: a }]", "'transaction' is not allowed inside"),
        ("call: { function: hashes }", "function 'hashes' cannot be called inside"),
    ],
)
def test_what_cannot_be_undone_is_refused(step: str, message: str) -> None:
    files = with_function(f"steps:\n  - transaction:\n      - {step}\n")
    files["functions/hashes.yaml"] = "steps:\n  - hashPassword: { password: a }\n"
    with pytest.raises(ProjectError, match=message):
        raise ProjectError(build(MemoryTree(files)).diagnostics)
