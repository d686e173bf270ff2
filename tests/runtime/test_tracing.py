"""A traced request: its steps by file and line, statements with rows, branches, and limits."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bbops.runtime.flow.tracing import MAX_DETAILS, MAX_SPANS, RequestTracer, Span
from tests.conftest import NOTES
from tests.support.workbench import Bench

FUNCTION = """
input: { title: string }
steps:
  - insert: { table: notes, data: { title: "${ input.title }" } }
    as: note
  - if: vars.note.id > 0
    then:
      - find: { table: notes, where: title == input.title }
        as: found
    else:
      - set: { found: [] }
  - return: { value: "${ vars.found | length }" }
"""


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Bench(tmp_path, {"tables/notes.yaml": NOTES}) as found:
        yield found


def trace(bench: Bench, function: str, body: Any = None) -> tuple[Any, list[Span]]:
    """Return the response of a traced request, and its spans."""
    client, tracer = bench.client(function), RequestTracer()

    async def run() -> Any:
        return await tracer.drive(client.ask("POST", "/run", body))

    return bench.loop.run_until_complete(run()), tracer.spans()


def steps(spans: list[Span]) -> list[tuple[int, int]]:
    """Return line and depth of each step."""
    found = [(span.place, span.depth) for span in spans if span.kind == "step"]
    return [(int(place.rpartition(":")[2]), depth) for place, depth in found]


def test_steps_are_listed_by_file_and_line_in_their_order(bench: Bench) -> None:
    answer, spans = trace(bench, FUNCTION, {"title": "a"})
    assert answer.status == 200
    assert [line for line, _ in steps(spans)] == [4, 6, 8, 12]
    assert {span.place.partition(":")[0] for span in spans if span.kind == "step"} == {
        "functions/run.yaml"
    }
    assert all(span.took_ms >= 0 and span.began_ms >= 0 for span in spans)


def test_statements_are_below_their_step_with_rows_and_without_values(bench: Bench) -> None:
    _, spans = trace(bench, FUNCTION, {"title": "secret title"})
    statements = [span for span in spans if span.kind == "sql"]
    assert [span.rows for span in statements] == [1, 1]
    assert "INSERT INTO" in statements[0].detail
    assert "SELECT" in statements[1].detail
    assert not any("secret title" in span.detail for span in spans)
    assert [span.depth for span in statements] == [1, 1]


def test_branches_of_parallel_are_traced_below_it(bench: Bench) -> None:
    function = """
steps:
  - parallel:
      a: [set: { x: 1 }]
      b:
        - find: { table: notes }
          as: notes
  - return: { value: "${ vars.x }" }
"""
    _, spans = trace(bench, function)
    by_line = dict(steps(spans))
    assert by_line[3] == 0
    assert by_line[6] == 1
    assert [span.depth for span in spans if span.kind == "sql"] == [2]


def test_failed_step_is_the_last_of_the_trace(bench: Bench) -> None:
    function = "steps:\n  - set: { x: 1 }\n  - throw: { status: 418, message: no }\n"
    answer, spans = trace(bench, function)
    assert answer.status == 418
    assert [line for line, _ in steps(spans)] == [2, 3]


def test_long_loop_keeps_a_bounded_trace(bench: Bench) -> None:
    loop = "loop: { over: range(2000), steps: [find: { table: notes, where: id == 0 }] }"
    _, spans = trace(bench, f"steps:\n  - {loop}\n")
    assert len(spans) == MAX_SPANS


def test_statements_of_a_trace_have_a_bounded_size(bench: Bench) -> None:
    long = " or ".join(f"title == 'a long title number {number}'" for number in range(40))
    loop = f'loop: {{ over: range(200), steps: [find: {{ table: notes, where: "{long}" }}] }}'
    _, spans = trace(bench, f"steps:\n  - {loop}\n")
    assert len(spans) > 200
    assert MAX_DETAILS / 2 < sum(len(span.detail) for span in spans) <= MAX_DETAILS


def test_other_tasks_are_not_traced(bench: Bench) -> None:
    client, tracer = bench.client(FUNCTION), RequestTracer()

    async def run() -> None:
        traced = asyncio.create_task(tracer.drive(client.ask("POST", "/run", {"title": "a"})))
        others = [client.ask("POST", "/run", {"title": "b"}) for _ in range(5)]
        await asyncio.gather(traced, *others)

    bench.loop.run_until_complete(run())
    assert [line for line, _ in steps(tracer.spans())] == [4, 6, 8, 12]
    assert sys.gettrace() is None


def test_cancelled_request_ends_its_trace(bench: Bench) -> None:
    async def forever() -> None:
        await asyncio.Event().wait()

    async def run() -> None:
        task = asyncio.create_task(RequestTracer().drive(forever()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert sys.gettrace() is None

    bench.loop.run_until_complete(run())
