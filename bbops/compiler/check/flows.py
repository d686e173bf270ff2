"""Functions: their steps, endless recursion, and steps that cannot be where they are."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from bbops.base.diagnostics import Diagnostic
from bbops.compiler.check._checked import CheckedProject
from bbops.compiler.check._surroundings import ResolvedProject
from bbops.compiler.check._ways import called, in_order
from bbops.language.project import Project, Resource
from bbops.language.resources.function import Function
from bbops.language.steps._base import Step, every_step
from bbops.language.steps.call import Call
from bbops.language.steps.parallel import Parallel
from bbops.language.steps.throw import Throw
from bbops.language.steps.transaction import Transaction


def check(project: CheckedProject) -> Iterator[Diagnostic]:
    """Yield the mistakes of every function."""
    yield from _check_flows(project)
    yield from _check_recursion(project)
    yield from _check_transactions(project)
    yield from _check_waits(project)


def _check_flows(project: CheckedProject) -> Iterator[Diagnostic]:
    """Yield the mistakes of every function."""
    for name in project.functions:
        yield from project.flows.of(name).diagnostics


Sure = Mapping[str, Mapping[str, Call]]
"""For each function, the functions that it calls before it can return, each with its first call."""


def _check_recursion(project: Project) -> Iterator[Diagnostic]:
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
    """Return the functions that may throw, directly or in a function that they call."""
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


_TRANSACTION_HINT = "move it before or after the transaction"


def _check_transactions(project: Project) -> Iterator[Diagnostic]:
    """Yield each step in a transaction that cannot be undone."""
    for function in project.functions.values():
        for step in function.model.every_step:
            if isinstance(step, Transaction):
                yield from _inside(project, function, step.transaction)


def _inside(
    project: Project, function: Resource[Function], steps: Sequence[Step]
) -> Iterator[Diagnostic]:
    for step in every_step(steps):
        if not step.fits_transaction:
            message = f"{_named(step)} is not allowed inside a transaction"
            yield Diagnostic(
                function.at(step.mark, 0), "in-transaction", message, _TRANSACTION_HINT
            )
        for name in step.calls():
            found = _first_misfit(project, name, set())
            if found is not None:
                message = f"function '{name}' cannot be called inside a transaction"
                where = f"{_named(found[1])} in {found[0]} cannot be undone"
                yield Diagnostic(function.at(step.mark, 0), "in-transaction", message, where)


def _first_misfit(project: Project, name: str, seen: set[str]) -> tuple[str, Step] | None:
    """Return the first step, of a function or of its callees, that cannot be undone."""
    function = project.functions.get(name)
    if function is None or name in seen:
        return None
    seen.add(name)
    for step in function.model.every_step:
        if not step.fits_transaction:
            return function.file, step
        for other in step.calls():
            found = _first_misfit(project, other, seen)
            if found is not None:
                return found
    return None


def _named(step: Step) -> str:
    return f"'{step.key}'"


_WAIT_HINT = "run the function with the step 'enqueue', and answer the request at once"


def _check_waits(project: ResolvedProject) -> Iterator[Diagnostic]:
    """Yield each `wait` that something else than a job would have to sit through."""
    sleeping = {
        name: steps for name, one in project.functions.items()
        if (steps := [step for step in one.model.every_step if step.sleeps])
    }  # fmt: skip
    if not sleeping:
        return
    ways = _find_ways(project)
    for name, steps in sleeping.items():
        for step in steps if name in ways else ():
            message = f"'{step.key}' is not allowed here: {ways[name]} runs this function"
            place = project.functions[name].at(step.mark)
            yield Diagnostic(place, "wait-in-request", message, _WAIT_HINT)
    for function in project.functions.values():
        yield from _in_time(project, function, sleeping)


def _find_ways(project: ResolvedProject) -> dict[str, str]:
    """Return the functions that are not run by jobs alone, and what runs them."""
    found = dict[str, str]()
    for name in project.functions:
        way = next((one.what for one in project.ways_to(name) if not one.is_job), None)
        for callee in called(project, [name]) if way is not None else ():
            found.setdefault(callee, way or "")
    return found


def _in_time(
    project: Project, function: Resource[Function], sleeping: Container[str]
) -> Iterator[Diagnostic]:
    """Refuse a `timeout` around a wait: it would begin again each time the job goes on."""
    for step in function.model.every_step:
        if step.timeout is not None and _sleeps(project, [step], sleeping):
            hint = "remove 'timeout' here; 'timeout' of the job does not count waits"
            message = f"the 'timeout' of a '{step.key}' cannot hold with a 'wait' inside"
            place = function.at(step.place("timeout") or step.mark)
            yield Diagnostic(place, "wait-in-time", message, hint)


def _sleeps(project: Project, steps: Sequence[Step], sleeping: Container[str]) -> bool:
    every = [*every_step(steps)]
    callees = called(project, [name for step in every for name in step.calls()])
    return any(step.sleeps for step in every) or any(name in sleeping for name in callees)
