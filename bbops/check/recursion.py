"""Functions that call themselves on every path: a call of them never ends well."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bbops.diagnostics import Diagnostic
from bbops.project import Project
from bbops.steps._base import Step, every_step
from bbops.steps.call import Call
from bbops.steps.throw import Throw
from bbops.steps.transaction import Transaction


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield each call of a function by itself that comes before any other way out of it."""
    for name, function in project.functions.items():
        if name not in function.model.callees:
            continue
        for step in _sure(function.model.steps):
            if step.call.function == name:
                yield Diagnostic(
                    function.at(step.mark), "endless-recursion",
                    f"'{name}' calls itself on every path, so it never ends",
                    "return before the call, or put it behind an 'if'",
                )  # fmt: skip


def _sure(steps: Iterable[Step]) -> Iterator[Call]:
    """Yield the calls that run whenever their function does: those before any way out."""
    for step in steps:
        if isinstance(step, Call):
            yield step
        elif isinstance(step, Transaction):
            yield from _sure(step.transaction)
        if any(one.leaves or isinstance(one, Throw) for one in every_step([step])):
            return
