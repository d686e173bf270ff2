"""What is known when a function begins: the variables that middleware has set before it."""

from __future__ import annotations

from collections.abc import Callable

from bbops.base.names import title_of
from bbops.compiler.check._resolved import ResolvedProject
from bbops.language.expressions.known import FlowFacts
from bbops.language.expressions.types import ANY, joined
from bbops.language.steps._base import variables

LeftBy = Callable[[str], FlowFacts | None]
"""Gives what a middleware leaves behind; None while it is itself under check."""


def known_before(project: ResolvedProject, name: str, left_by: LeftBy) -> tuple[FlowFacts, bool]:
    """Return what is known before a function's first step, and whether that is all.

    It is not where middleware could not be read as it stands. A variable that some way to the
    function does not set is not set. A function that nothing runs yet, such as a copy, may get an
    endpoint behind any middleware, so that it has
    the variables of all that it does not set, of any type.
    """
    ways: dict[tuple[str, ...], str] = {}
    to_it = project.ways_to(name)
    if not to_it and name not in project.callers and name not in project.middleware:
        every = [project.functions[one] for one in project.middleware if one in project.functions]
        own = {*variables(project.functions[name].model.steps)}
        names = sorted({of for one in every for of in variables(one.model.steps)} - own)
        return FlowFacts(dict.fromkeys(names, ANY)), True
    for way in to_it:
        ways.setdefault(way.before, f"{way.what} does not run the middleware that sets it")
    if name in project.callers:
        why = f"{title_of(project.callers[name])} calls this one, which has its own variables"
        ways.setdefault((), why)
    is_complete = all(_is_right(project, one) for chain in ways for one in chain)
    ends = [(why, left_by_chain(project, chain, left_by)) for chain, why in ways.items()]
    return _common(ends), is_complete


def _is_right(project: ResolvedProject, middleware: str) -> bool:
    function = project.functions.get(middleware)
    return function is not None and function.file not in project.repaired


def left_by_chain(project: ResolvedProject, chain: tuple[str, ...], left_by: LeftBy) -> FlowFacts:
    """Return what middleware that runs one after the other leaves behind."""
    found = FlowFacts()
    for middleware in chain:
        if middleware not in project.functions:
            continue
        left = left_by(middleware)
        if left is None:  # the two run before each other
            names = variables(project.functions[middleware].model.steps)
            left = FlowFacts(dict.fromkeys(names, ANY))
        for name in left.vars:
            found.set(name, left.variable(name))
        for name, why in left.unset.items():
            if name not in found.vars:
                found.unset[name] = why or f"middleware '{middleware}' sets it on some paths only"
    return found


def _common(ends: list[tuple[str, FlowFacts]]) -> FlowFacts:
    found = FlowFacts()
    for name in dict.fromkeys(name for _, end in ends for name in {**end.vars, **end.unset}):
        lacking = next(((why, end) for why, end in ends if name not in end.vars), None)
        if lacking is None:
            found.vars[name] = joined([end.vars[name] for _, end in ends])
        else:
            why, end = lacking
            found.unset[name] = end.unset.get(name, why)
    return found
