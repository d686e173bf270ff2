"""The ways on which functions are reached, and the order in which they are checked.

What a function may read is what every way to it gives. `call` is no way of its own: a called
function has only what it is handed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from bbops.base.names import title_of
from bbops.language.expressions.types import ANY, INTEGER, NULL, TEXT, Type, join, map_of
from bbops.language.project import Authentication, Project, Route
from bbops.language.resources.endpoint import Upload
from bbops.language.resources.task import Task
from bbops.language.resources.trigger import DatabaseTrigger, Trigger
from bbops.language.shape import Shape, shape_types


@dataclass(frozen=True, slots=True)
class Way:
    """One way to a function.

    Attributes:
        what: how a message names it, for example `endpoint 'posts/list'`.
        parameters: names of path parameters.
        before: the middleware that runs before the function.
        is_middleware: the function is itself middleware there.
        has_request: headers, and what else a request has, are there.
        has_arguments: `input`, `query` and `params` are there.
        answers: what the function returns leaves the server.
        is_job: a job runs the function, and nobody waits for its end.
        files: the uploads that come in `input`.
        given: the roots that only this kind of way has: `job`, `event` or `trigger`.
    """

    what: str
    authentication: Authentication = "None"
    parameters: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    is_middleware: bool = False
    has_request: bool = True
    has_arguments: bool = True
    answers: bool = True
    is_job: bool = False
    files: Mapping[str, Upload] = field(default_factory=dict)
    given: Mapping[str, Type] = field(default_factory=dict)


JOB: Final = map_of({"id": TEXT, "attempt": INTEGER, "key": TEXT}, "the job")
"""The root `job`, in functions that only jobs run."""


def find_ways(project: Project) -> Mapping[str, tuple[Way, ...]]:
    """Return the ways to each function that is reached. O(resources)."""
    found: dict[str, tuple[Way, ...]] = {}
    for name, way in _ways(project):
        found[name] = (*found.get(name, ()), way)
    return found


def _ways(project: Project) -> Iterator[tuple[str, Way]]:
    for route in project.routes:
        yield from _of_route(route)
    yield from _of_realtime(project)
    yield from _of_agents(project)
    for name, task in project.tasks.items():
        yield task.model.function, _of_task(name, task.model)
    for function, starting in project.started.items():
        for one in starting:
            yield function, Way(
                f"'enqueue' in {title_of(one)}", has_request=False, is_job=True, given={"job": JOB}
            )  # fmt: skip
    for name, trigger in project.triggers.items():
        yield trigger.model.function, _of_trigger(project, name, trigger.model)
    for dead in project.on_dead:
        failed = project.functions.get(dead.function)
        of = event_of(failed.model.payload if failed else None)
        yield dead.function, _silent(f"'onDead' of {dead.work}", {"event": of})


def _of_route(route: Route) -> Iterator[tuple[str, Way]]:
    what = f"endpoint '{route.endpoint.name}'"
    function, chain = route.function, route.middleware
    for at, name in enumerate(dict.fromkeys(chain)):
        yield name, Way(
            what, route.authentication, route.parameters, chain[:at], is_middleware=True
        )  # fmt: skip
    if function not in chain:
        files = route.endpoint.model.files
        yield function, Way(what, route.authentication, route.parameters, chain, files=files)


def _of_realtime(project: Project) -> Iterator[tuple[str, Way]]:
    for name, found in project.realtime.items():
        model, chain = found.model, tuple(found.model.middleware)
        for at, function in enumerate(dict.fromkeys(chain)):
            yield function, Way(
                f"realtime '{name}'", model.authentication, model.parameters, chain[:at],
                is_middleware=True, answers=False,
            )  # fmt: skip


def _of_agents(project: Project) -> Iterator[tuple[str, Way]]:
    for name, agent in project.agents.items():
        runs_on = agent.model.runs_on
        has_user = runs_on.starts == ("chat",) and runs_on.chat is not None
        authentication = runs_on.chat.authentication if has_user and runs_on.chat else "None"
        for tool in dict.fromkeys(agent.model.tool_names):
            yield tool, Way(f"agent '{name}'", authentication, has_request=False)


def _silent(what: str, given: Mapping[str, Type] | None = None) -> Way:
    return Way(
        what, has_request=False, has_arguments=False, answers=False, is_job=True,
        given={"job": JOB, **(given or {})},
    )  # fmt: skip


def _of_task(name: str, task: Task) -> Way:
    return replace(_silent(f"task '{name}'"), has_arguments=task.input is not None)


def _of_trigger(project: Project, name: str, trigger: Trigger) -> Way:
    what = f"trigger '{name}'"
    if trigger.database is not None:
        return _silent(what, {"trigger": rows_of(project, trigger.database)})
    function = project.functions.get(trigger.function)
    return _silent(what, {"event": event_of(function.model.payload if function else None)})


def rows_of(project: Project, trigger: DatabaseTrigger) -> Type:
    """Return the type of `trigger`: a new row has no old one, a deleted row no new one."""
    table, happens = project.stored_tables.get(trigger.table), set(trigger.operation)
    row = table.row_type() if table else ANY
    fields = {
        "newRow": NULL if happens == {"delete"} else row.or_null() if "delete" in happens else row,
        "oldRow": NULL if happens == {"insert"} else row.or_null() if "insert" in happens else row,
    }
    return map_of(fields, "trigger")


def event_of(payload: Shape | None) -> Type:
    """Return the type of `event`; a payload without a shape is open."""
    of = ANY if payload is None else map_of(shape_types(payload), "event.payload")
    return map_of({"name": TEXT, "payload": of}, "event")


def joined_root(ways: tuple[Way, ...], root: str) -> Type:
    """Return the type of a root that only some ways have, where every way has it."""
    found = ways[0].given[root]
    for way in ways[1:]:
        found = join(found, way.given[root])
    return found


# ---- In which order functions are checked: each after those that it calls, or that run before it

Graph = Mapping[str, tuple[str, ...]]
"""For each function, the functions whose results it uses."""


def dependencies(project: Project, ways: Mapping[str, tuple[Way, ...]]) -> Graph:
    """Return the functions that each function calls, and the middleware before it."""
    return {
        name: tuple(one for one in dict.fromkeys(_builds_on(project, ways, name))
                    if one in project.functions) for name in project.functions
    }  # fmt: skip


def _builds_on(project: Project, ways: Mapping[str, tuple[Way, ...]], name: str) -> Iterator[str]:
    yield from project.callees.get(name, ())
    for way in ways.get(name, ()):
        yield from way.before


def called(project: Project, functions: Iterable[str]) -> list[str]:
    """Return functions and those that they call, at any depth, by their names."""
    found, wanted = set[str](), [*functions]
    while wanted:
        name = wanted.pop()
        if name not in found and name in project.functions:
            found.add(name)
            wanted += project.callees[name]
    return sorted(found)


def in_order(graph: Graph) -> Iterator[tuple[str, ...]]:
    """Yield the nodes in groups, each after the groups it builds on; a circle is one group.

    Source: Tarjan, "Depth-first search and linear graph algorithms" (1972), without recursion.
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    waiting: list[str] = []
    for root in graph:
        todo = [] if root in index else [(root, iter(graph[root]))]
        while todo:
            node, inner = todo[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                waiting.append(node)
            below = next((one for one in inner if one not in index), None)
            if below is not None:
                todo.append((below, iter(graph[below])))
                continue
            todo.pop()
            reached = [low[one] for one in graph[node] if one in low]
            low[node] = min([low[node], *reached])
            if low[node] == index[node]:
                group = waiting[waiting.index(node) :]
                del waiting[-len(group) :]
                for member in group:
                    del low[member]
                yield tuple(group)
