"""Only jobs wait: no request, agent or subscription reaches a step that sleeps."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from bbops.base.diagnostics import Diagnostic
from bbops.compiler.check._order import called
from bbops.compiler.check._surroundings import ResolvedProject
from bbops.language.project import Project, Resource
from bbops.language.resources.function import Function
from bbops.language.steps._base import Step, every_step

_HINT = "run the function with the step 'enqueue', and answer the request at once"


def check(project: ResolvedProject) -> Iterator[Diagnostic]:
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
            yield Diagnostic(place, "wait-in-request", message, _HINT)
    for function in project.functions.values():
        yield from _in_time(project, function, sleeping)


def _find_ways(project: ResolvedProject) -> dict[str, str]:
    """Return the functions that are not run by jobs alone, and what runs them."""
    found = dict[str, str]()
    for name in project.functions:
        way = next((one.what for one in project.ways_to(name) if not one.is_job), None)
        for one in called(project, [name]) if way is not None else ():
            found.setdefault(one, way or "")
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
