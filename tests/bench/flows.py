"""What a compiled function costs beside one that is written by hand, without a server."""

from __future__ import annotations

from statistics import median
from time import perf_counter_ns
from typing import Any

from bbops.compiler.compile.release import build
from bbops.compiler.testing.host import fake_host
from bbops.runtime.linking.release import link
from bbops.source.tree import MemoryTree
from tests.bench.figures import Figure
from tests.bench.order_by_hand import order
from tests.bench.project import endpoint

ORDER = """
params: { id: string }
input: { qty: integer }
steps:
  - set: { x: "${ input.qty * 2 }" }
  - if: vars.x > 10
    then:
      - return: { status: 400, value: { error: qty is too large } }
  - loop:
      over: range(5)
      each: i
      steps:
        - set: { price: "${ vars.i * vars.x }" }
      collect: { n: "${ vars.i }", price: "${ vars.price }" }
    as: lines
  - return:
      status: 201
      value: { id: "${ params.id }", total: "${ vars.x }", items: "${ vars.lines }" }
"""
EXPECTED = {"id": "7", "total": 8, "items": [{"n": i, "price": 8 * i} for i in range(5)]}
FUEL = 100_000


def measure(*, rounds: int, runs: int) -> list[Figure]:
    """Run the compiled function and the other in turn."""
    compiled = compile_order()
    run = compiled.make_run()
    run.params, run.input = {"id": "7"}, {"qty": 4}
    for flow in (compiled.flow, order):
        run.fuel = [FUEL]
        assert _finished(flow(run))[:2] == (201, EXPECTED)
    pairs = [
        [_nanoseconds(flow, run, runs) for flow in (compiled.flow, order)] for _ in range(rounds)
    ]
    ours, by_hand = (median(column) for column in zip(*pairs, strict=True))
    ratio = median(one / other for one, other in pairs)
    return [
        Figure("set, if, loop of five, return: compiled", ours, "ns"),
        Figure("set, if, loop of five, return: by hand", by_hand, "ns"),
        Figure("set, if, loop of five, return: compiled to by hand", ratio, "times", 1.8),
    ]


class Compiled:
    """The linked function."""

    def __init__(self, release: Any) -> None:
        self.flow = release.functions["order"].flow
        self.make_run = release.answering.make_run


def compile_order() -> Compiled:
    """Compile and link ORDER as a server would."""
    files = {
        "project.yaml": "bbops: 1\nname: order\n",
        "functions/order.yaml": ORDER,
        "endpoints/order.yaml": endpoint("POST", "/orders/:id", "order"),
    }
    built = build(MemoryTree(files))
    assert built.project is not None, built.diagnostics
    host: Any = fake_host(None)  # type: ignore[arg-type]
    return Compiled(link(built.artifact, name="order", host=host, env={}))


def _nanoseconds(flow: Any, run: Any, count: int) -> float:
    began = perf_counter_ns()
    for _ in range(count):
        run.fuel = [FUEL]
        _finished(flow(run))
    return (perf_counter_ns() - began) / count


def _finished(coroutine: Any) -> Any:
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waits")
