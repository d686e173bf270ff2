"""Find removed and changed conditions that refuse callers, on each path from outside.

A guard is an `if` that reads the role or the claims of the caller, or that leads to a 401 or 403;
and each part of a `where` that reads the caller. Other decisions of functions are not known here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from bbops.base.diagnostics import Place
from bbops.language.expressions.inside import conjuncts
from bbops.language.expressions.values import Constant, Expression
from bbops.language.project import Resource
from bbops.language.resources.function import Function
from bbops.language.steps._base import Step
from bbops.language.steps.if_ import If
from bbops.language.steps.return_ import Return
from bbops.language.steps.throw import Throw
from bbops.review.plan.finding import Finding, finding
from bbops.review.plan.pairs import Pairs, reached, run_by, title
from bbops.source.yaml.document import Mark

_ROLE = re.compile(r"\bvars\??\.(auth\??\.(role|claims)|apiKey\??\.claims)\b").search
_WHO = re.compile(r"\bvars\??\.(auth|apiKey)\b").search
_REFUSALS = {401, 403}


class Guard(NamedTuple):
    """A condition, whether it answers 401 or 403, and its function with its place, `mark`."""

    condition: str
    refuses: bool
    function: Resource[Function]
    mark: Mark | None


class Way(NamedTuple):
    """A path from outside: its functions before and after, and its beginning."""

    subject: str
    was: list[Resource[Function]]
    now: list[Resource[Function]]
    place: Place


def find_changed_guards(pairs: Pairs) -> Iterator[Finding]:
    """Yield the guards that a path no longer has, wherever on it they stood."""
    for way in _ways(pairs):
        if sorted(function.blob for function in way.was) != sorted(
            function.blob for function in way.now
        ):
            yield from _changed(pairs, way)


def _ways(pairs: Pairs) -> Iterator[Way]:
    """Yield the paths of both projects: of changed routes, topics, and tools of agents."""
    for pair in pairs.other_routes:
        if pair.base is not None and pair.head is not None:
            was, now = run_by(pairs.base, pair.base), run_by(pairs.head, pair.head)
            yield _way(pairs, title(pair.head), was, now, pair.head.code_place)
    for base, head in pairs.both("realtime"):
        was = reached(pairs.base, *base.model.middleware)
        now = reached(pairs.head, *head.model.middleware)
        yield _way(pairs, f"topic {head.model.topic}", was, now, head.place("middleware"))
    for base, head in pairs.both("agents"):
        for tool in base.model.tool_names:
            name = pairs.new_name("functions", tool)
            if name in head.model.tool_names:
                was, now = reached(pairs.base, tool), reached(pairs.head, name)
                yield _way(pairs, f"agent {head.name}", was, now, head.place("tools"))


def _way(
    pairs: Pairs, subject: str, was: tuple[str, ...], now: tuple[str, ...], place: Place
) -> Way:
    base, head = pairs.base.functions, pairs.head.functions
    return Way(subject, [base[name] for name in was], [head[name] for name in now], place)


def _changed(pairs: Pairs, way: Way) -> Iterator[Finding]:
    was, now = _guards(way.was), _guards(way.now)
    for old, new in zip_longest(_without(was, now), _without(now, was)):
        if old is None:
            return  # an additional guard
        if new is None:
            message = f"no longer checks '{old.condition}'"
            yield finding("guard-removed", way.subject, message, _place(pairs, way, old))
        elif said := _says(old, new):
            yield finding("guard-changed", way.subject, said, new.function.at(new.mark))


def _says(old: Guard, new: Guard) -> str:
    """Return how one guard replaces another; empty if it only refuses more."""
    if old.condition != new.condition:
        return f"checks '{new.condition}', it checked '{old.condition}'"
    return f"no longer answers 401 or 403 where '{old.condition}'" if old.refuses else ""


def _place(pairs: Pairs, way: Way, gone: Guard) -> Place:
    name = pairs.new_name("functions", gone.function.name)
    function = pairs.head.functions.get(name)
    return function.place("steps") if function else way.place


def _without(guards: list[Guard], others: list[Guard]) -> list[Guard]:
    """Return the guards that are missing in others, as often as they are missing."""
    left = Counter(guard[:2] for guard in others)
    missing = []
    for guard in guards:
        left[guard[:2]] -= 1
        if left[guard[:2]] < 0:
            missing.append(guard)
    return missing


def _guards(functions: list[Resource[Function]]) -> list[Guard]:
    return [
        guard
        for function in functions
        for step in function.model.every_step
        for guard in _of_step(function, step)
    ]


def _of_step(function: Resource[Function], step: Step) -> Iterator[Guard]:
    if isinstance(step, If):
        condition, refuses = step.if_, _refuses(step)
        if isinstance(condition, Expression) and (refuses or _ROLE(condition.text)):
            yield Guard(condition.text, refuses, function, step.place("if") or step.mark)
        return
    where = getattr(getattr(step, step.key, None), "where", None)
    if isinstance(where, Expression):
        for node in conjuncts(where.node):
            part = where.text[node.start : node.end]
            if _WHO(part):
                yield Guard(part, False, function, step.place("where") or step.mark)  # noqa: FBT003


def _refuses(step: If) -> bool:
    """Return whether the condition leads directly to a 401 or 403."""
    inner = [*step.then, *(step.else_ or ())]
    statuses = [step.throw.status for step in inner if isinstance(step, Throw)]
    statuses += [step.return_.status for step in inner if isinstance(step, Return)]
    return any(isinstance(status, Constant) and status.value in _REFUSALS for status in statuses)
