"""In which order functions are checked: each after those that it calls, or that run before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from bbops.compiler.check._ways import Way
from bbops.language.project import Project

Graph = Mapping[str, tuple[str, ...]]
"""For each function the ones whose results it builds on."""


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
                for one in group:
                    del low[one]
                yield tuple(group)
