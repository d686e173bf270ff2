"""Functions that call themselves on every path: a call of them never ends well."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from bbops.base.diagnostics import Diagnostic
from bbops.compiler.check._order import in_order
from bbops.language.project import Project
from bbops.language.steps._base import Step, every_step
from bbops.language.steps.call import Call
from bbops.language.steps.parallel import Parallel
from bbops.language.steps.throw import Throw
from bbops.language.steps.transaction import Transaction

Sure = Mapping[str, Mapping[str, Call]]
"""For each function the ones that it calls before any way out, and the first call of each."""


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield a call of each function that ends up in itself before any way out. O(calls)."""
    throws = _throwing(project)
    sure = {name: _calls(project, name, throws) for name in project.functions}
    graph = {name: tuple(calls) for name, calls in sure.items()}
    for group in in_order(graph):
        for name in sorted(group):
            yield from _of_circle(project, name, frozenset(group), sure)


def _of_circle(
    project: Project, name: str, group: frozenset[str], sure: Sure
) -> Iterator[Diagnostic]:
    inside = [one for one in sure[name] if one in group]
    if not inside:
        return
    callee = name if name in inside else inside[0]
    way = "" if callee == name else f", through '{callee}'"
    function = project.functions[name]
    yield Diagnostic(
        function.at(sure[name][callee].mark), "endless-recursion",
        f"'{name}' calls itself on every path{way}, so it never returns",
        "return before the call, or put it inside an 'if'",
    )  # fmt: skip


def _throwing(project: Project) -> frozenset[str]:
    """Return the functions that may throw, by themselves or in what they call."""
    steps = {name: [*every_step(one.model.steps)] for name, one in project.functions.items()}
    found = {name for name, each in steps.items() if any(isinstance(one, Throw) for one in each)}
    todo = [*found]
    callers: dict[str, set[str]] = {}
    for name, callees in project.callees.items():
        for callee in callees:
            callers.setdefault(callee, set()).add(name)
    while todo:
        new = callers.get(todo.pop(), set()) - found
        found |= new
        todo += new
    return frozenset(found)


def _calls(project: Project, name: str, throws: frozenset[str]) -> Mapping[str, Call]:
    """Return the calls that run whenever their function does: those before any way out."""
    if not project.callees[name]:
        return {}
    found: dict[str, Call] = {}
    for call in _sure(project.functions[name].model.steps, throws):
        if call.call.function in project.functions:
            found.setdefault(str(call.call.function), call)
    return found


def _sure(steps: Iterable[Step], throws: frozenset[str]) -> Iterator[Call]:
    for step in steps:
        if isinstance(step, Call):
            yield step
        yield from _sure_inside(step, throws)
        if any(_is_way_out(one, throws) for one in every_step([step])):
            return


def _sure_inside(step: Step, throws: frozenset[str]) -> Iterator[Call]:
    """Yield the sure calls of steps that run whenever the step around them does."""
    if isinstance(step, Transaction):
        yield from _sure(step.transaction, throws)
    elif isinstance(step, Parallel):
        yield from chain.from_iterable(_sure(one, throws) for one in step.parallel.values())


def _is_way_out(step: Step, throws: frozenset[str]) -> bool:
    called = isinstance(step, Call) and step.call.function in throws
    return called or step.leaves or isinstance(step, Throw)
