"""A project whose functions are checked, and checked again after an edit as far as it changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bbops.base.diagnostics import has_errors
from bbops.compiler.check._flows import Flows
from bbops.compiler.check._surroundings import ResolvedProject, asking
from bbops.compiler.check._ways import Graph
from bbops.language.project import Project, Resource


@dataclass(frozen=True)
class CheckedProject(ResolvedProject):
    """A project whose functions are checked, each when it is asked for first."""

    @cached_property
    def flows(self) -> Flows:
        """The functions, each checked in its surroundings. O(steps of all functions)."""
        return Flows(self, self.graph)


def check_again(project: Project, before: CheckedProject | None = None) -> CheckedProject:
    """Return a project with the results of an earlier one where they hold; the rest is checked.

    What is reused was found with the same text, the same tables, the same ways to the function,
    and only functions of which the same is true.

    Args:
        before: the project as it was checked last; where every function may be another one by
            now, nothing is taken from it.
    """
    checked = CheckedProject.of(project)
    if before is not None and _may_reuse(checked, before):
        vars(checked)["flows"] = _reuse(checked, before)
    return checked


def _reuse(project: CheckedProject, before: CheckedProject) -> Flows:
    known, graph = before.flows, project.graph
    known.check_all()
    stale = _stale(project, before, graph)
    kept = {name: flow for name, flow in known.done.items() if name in graph and name not in stale}
    flows = Flows(project, graph, kept, {name: known.gives[name] for name in kept})
    flows.check_all()
    return flows


def _may_reuse(project: CheckedProject, before: CheckedProject) -> bool:
    """Return whether nothing changed on which every function may depend."""
    if _sign_in(project) != _sign_in(before):
        return False
    for kind in ("realtime", "triggers", "agents"):
        if _blobs(getattr(project, kind)) != _blobs(getattr(before, kind)):
            return False
    told = {trigger.model.function for trigger in project.triggers.values()}
    _, users, _ = _sign_in(project)
    if _blob(project.tables, users) != _blob(before.tables, users):
        return False
    return all(_blob(project.functions, name) == _blob(before.functions, name) for name in told)


def _sign_in(project: CheckedProject) -> tuple[bool, str, tuple[str, ...]]:
    """Return what functions may depend on of `auth`: whether it is there, users' table, roles."""
    auth = project.settings.model.auth
    return auth is not None, auth.users or "" if auth else "", project.roles


def _stale(project: CheckedProject, before: CheckedProject, graph: Graph) -> set[str]:
    stale = {name for name in graph if not _is_same(project, before, name)}
    stale |= {name for name in graph if graph[name] != before.graph.get(name)}
    if project.settings.model.env != before.settings.model.env:
        stale |= {name for name in graph if "env" in project.functions[name].document.source}
    while more := {n for n in graph if n not in stale and not stale.isdisjoint(graph[n])}:
        stale |= more
    return stale


def _is_same(project: CheckedProject, before: CheckedProject, name: str) -> bool:
    flow = before.flows.done.get(name)
    if flow is None or _blob(project.functions, name) != _blob(before.functions, name):
        return False
    if has_errors(flow.diagnostics):  # what they say, and their cures, may be of anything
        return False
    readable = project.broken ^ before.broken
    for kind, read in flow.reads:
        new, old = project.named(kind), before.named(kind)
        if _blob(new, read) != _blob(old, read) or (f"{kind}s", read) in readable:
            return False
        # other tables tell which of their rows refer to this one's
        if kind == "table" and project.sql_tables.get(read) != before.sql_tables.get(read):
            return False
    return (
        project.ways_to(name) == before.ways_to(name)
        and project.callers.get(name) == before.callers.get(name)
        and asking(project, name) == asking(before, name)
        and (name in project.middleware) == (name in before.middleware)
    )


def _blob(group: Mapping[str, Resource[Any]], name: str) -> str:
    found = group.get(name)
    return found.blob if found else ""


def _blobs(group: Mapping[str, Resource[Any]]) -> dict[str, str]:
    return {name: one.blob for name, one in group.items()}
