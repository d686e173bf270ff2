"""Match the resources and routes of two projects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bbops.base.names import INLINE
from bbops.compiler.check import CheckedProject
from bbops.database.diff.renames import find_renames
from bbops.language.project import Project, Resource, Route


@dataclass(frozen=True, slots=True)
class RoutePair:
    """A route before and after; one of them may be missing."""

    base: Route | None
    head: Route | None


@dataclass(frozen=True)
class Pairs:
    """Two projects without mistakes, side by side.

    A moved file is recognized by its content, a table by `renamedFrom` only: without it the rows
    stay behind. A route is recognized by its address first, then by its endpoint.
    """

    base: CheckedProject
    head: CheckedProject

    @cached_property
    def renames(self) -> Mapping[str, Mapping[str, str]]:
        """Old names by new names, for each folder."""
        return {folder: self._renames(folder) for folder in self.head.resources}

    def _renames(self, folder: str) -> Mapping[str, str]:
        base, head = of(self.base, folder), of(self.head, folder)
        if folder == "tables":
            models = [
                {name: resource.model for name, resource in side.items()} for side in (base, head)
            ]
            return find_renames(*models).tables
        if folder == "addons":  # their names are fixed
            return {}
        gone = defaultdict[str, list[str]](list)
        for name in sorted(base.keys() - head.keys(), reverse=True):
            gone[base[name].blob].append(name)
        new = sorted(head.keys() - base.keys())
        return {name: gone[head[name].blob].pop() for name in new if gone[head[name].blob]}

    @cached_property
    def _forward(self) -> Mapping[str, Mapping[str, str]]:
        return {
            folder: {old: new for new, old in names.items()}
            for folder, names in self.renames.items()
        }

    def new_name(self, folder: str, old: str) -> str:
        """Return the new name of a resource of the old project, if it still exists."""
        if folder == "functions" and old.startswith(INLINE):
            return f"{INLINE}{self.new_name('endpoints', old.removeprefix(INLINE))}"
        return self._forward[folder].get(old, old)

    def old_name(self, folder: str, new: str) -> str:
        """Return the old name of a resource of the new project, if it existed."""
        if folder == "functions" and new.startswith(INLINE):
            return f"{INLINE}{self.old_name('endpoints', new.removeprefix(INLINE))}"
        return self.renames[folder].get(new, new)

    def both(self, folder: str) -> Iterator[tuple[Resource[Any], Resource[Any]]]:
        """Yield (old, new) of the resources in both projects, by their new names."""
        base, head = of(self.base, folder), of(self.head, folder)
        for name in sorted(head):
            old = base.get(self.old_name(folder, name))
            if old is not None:
                yield old, head[name]

    @cached_property
    def routes(self) -> tuple[RoutePair, ...]:
        """Every route of either project once, in the order of their paths."""
        return tuple(sorted(self._routes(), key=_rank))

    @cached_property
    def other_routes(self) -> tuple[RoutePair, ...]:
        """The routes without those whose files, and whose functions at any depth, are the same.

        Projects that were checked with one cache share the resources of unchanged files; without
        a shared cache, these are all routes.
        """
        if self.base.settings is not self.head.settings:
            return self.routes
        return tuple(pair for pair in self.routes if not self._is_same(pair))

    def _is_same(self, pair: RoutePair) -> bool:
        base, head = pair.base, pair.head
        if base is None or head is None or base.endpoint is not head.endpoint:
            return False
        return base.channel is head.channel and self._other_functions.isdisjoint(
            (head.function, *head.middleware)
        )

    @cached_property
    def _other_functions(self) -> frozenset[str]:
        """The functions that differ between the projects, and the functions that run these."""
        base, head = self.base.functions, self.head.functions
        todo = [name for name in base.keys() | head.keys() if base.get(name) is not head.get(name)]
        callers = defaultdict[str, list[str]](list)
        for project in (self.base, self.head) if todo else ():
            for name in project.functions:
                for callee in _runs(project, name):
                    callers[callee].append(name)
        found = set(todo)
        while todo:
            new = [name for name in callers[todo.pop()] if name not in found]
            found.update(new)
            todo += new
        return frozenset(found)

    def _routes(self) -> Iterator[RoutePair]:
        base = {address(route): route for route in self.base.routes}
        head = {address(route): route for route in self.head.routes}
        yield from (RoutePair(base[key], head[key]) for key in head if key in base)
        left = {base[key].endpoint.name: base[key] for key in base if key not in head}
        for key, route in head.items():
            if key not in base:
                old = self.old_name("endpoints", route.endpoint.name)
                yield RoutePair(left.pop(old, None), route)
        yield from (RoutePair(route, None) for route in left.values())


def of(project: Project, folder: str) -> Mapping[str, Resource[Any]]:
    """Return the resources in a folder of a project, by name."""
    return project.resources[folder]


def address(route: Route) -> tuple[str, str]:
    """Return method and path for clients, without the names of parameters."""
    segments = (":" if part.startswith(":") else part for part in route.path.split("/"))
    return route.method, "/".join(segments)


def title(route: Route) -> str:
    """Return `GET /notes/:id`."""
    return f"{route.method} {route.path}"


def reached(project: Project, *functions: str) -> tuple[str, ...]:
    """Return functions and their callees and enqueued functions, at any depth, each once."""
    found = dict.fromkeys(functions)
    todo = list(found)
    while todo:
        for name in _runs(project, todo.pop()):
            if name not in found and name in project.functions:
                found[name] = None
                todo.append(name)
    return tuple(name for name in found if name in project.functions)


def _runs(project: Project, function: str) -> tuple[str, ...]:
    """Return the functions that a function calls or enqueues itself."""
    started = project.functions[function].model.started if function in project.functions else ()
    return (*project.callees.get(function, ()), *started)


def run_by(project: Project, route: Route) -> tuple[str, ...]:
    """Return every function that a request of a route may run."""
    return reached(project, *route.middleware, route.function)


def _rank(pair: RoutePair) -> tuple[str, str]:
    route = pair.head or pair.base
    assert route is not None  # noqa: S101 - a pair has at least one route
    return route.path, route.method
