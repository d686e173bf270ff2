"""Say which conditions that refuse requests are gone, or are others, on the way to a route.

A guard is an `if` that reads the role or the claims of who asks, or in which a 401 or 403 is
answered; and each part of a `where` that reads who asks. What else a function may decide by is not
known here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from bbops.expressions.nodes import Logic, Node
from bbops.expressions.values import Constant, Expression
from bbops.plan.finding import Finding, finding
from bbops.plan.pairs import Pairs, run_by, title
from bbops.project import Project, Resource, Route
from bbops.resources.function import Function
from bbops.steps._base import Step, every_step
from bbops.steps.if_ import If
from bbops.steps.return_ import Return
from bbops.steps.throw import Throw
from bbops.yaml.document import Mark

_ROLE = re.compile(r"\bvars\??\.(auth\??\.(role|claims)|apiKey\??\.claims)\b").search
_WHO = re.compile(r"\bvars\??\.(auth|apiKey)\b").search
_REFUSALS = {401, 403}


class Guard(NamedTuple):
    """A condition, and the function in which it stands at `mark`."""

    condition: str
    function: Resource[Function]
    mark: Mark | None


def find_changed_guards(pairs: Pairs) -> Iterator[Finding]:
    """Yield the guards that no request of a route meets any more, wherever they stood."""
    for pair in pairs.routes:
        if pair.base is None or pair.head is None:
            continue
        was, now = _functions(pairs.base, pair.base), _functions(pairs.head, pair.head)
        if sorted(one.blob for one in was) != sorted(one.blob for one in now):
            yield from _changed(pairs, pair.head, _guards(was), _guards(now))


def _changed(pairs: Pairs, route: Route, was: list[Guard], now: list[Guard]) -> Iterator[Finding]:
    new = _without(now, was)
    for number, guard in enumerate(_without(was, now)):
        if number < len(new):
            there = new[number]
            message = f"checks '{there.condition}', it checked '{guard.condition}'"
            place = there.function.at(there.mark)
            yield finding("guard-changed", title(route), message, place)
        else:
            name = pairs.new_name("functions", guard.function.name)
            function = pairs.head.functions.get(name)
            place = function.place("steps") if function else route.endpoint.place("function")
            message = f"no longer checks '{guard.condition}'"
            yield finding("guard-removed", title(route), message, place)


def _without(guards: list[Guard], others: list[Guard]) -> list[Guard]:
    """Return the guards that others lack, each as often as it is missing."""
    left = Counter(one.condition for one in others)
    left.subtract(one.condition for one in guards)
    missing = {condition: -number for condition, number in left.items() if number < 0}
    return [one for condition, number in missing.items()
            for one in [it for it in guards if it.condition == condition][:number]]  # fmt: skip


def _functions(project: Project, route: Route) -> list[Resource[Function]]:
    return [project.functions[name] for name in run_by(project, route)]


def _guards(functions: list[Resource[Function]]) -> list[Guard]:
    return [
        Guard(condition, function, mark or step.mark)
        for function in functions
        for step in every_step(function.model.steps)
        for condition, mark in _conditions(step)
    ]


def _conditions(step: Step) -> Iterator[tuple[str, Mark | None]]:
    if isinstance(step, If):
        condition = step.if_
        if isinstance(condition, Expression) and (_ROLE(condition.text) or _refuses(step)):
            yield condition.text, step.place("if")
        return
    where = getattr(getattr(step, step.key, None), "where", None)
    if isinstance(where, Expression):
        parts = (where.text[node.start : node.end] for node in _conjuncts(where.node))
        yield from ((part, step.place("where")) for part in parts if _WHO(part))


def _conjuncts(node: Node) -> Iterator[Node]:
    if isinstance(node, Logic) and node.op == "and":
        yield from _conjuncts(node.left)
        yield from _conjuncts(node.right)
    else:
        yield node


def _refuses(step: If) -> bool:
    """Return whether a 401 or 403 is answered right behind the condition."""
    inner = [*step.then, *(step.else_ or ())]
    statuses = [one.throw.status for one in inner if isinstance(one, Throw)]
    statuses += [one.return_.status for one in inner if isinstance(one, Return)]
    return any(isinstance(one, Constant) and one.value in _REFUSALS for one in statuses)
