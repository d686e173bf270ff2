"""Inside a transaction stands only what a rollback undoes, also in the functions it calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bbops.base.diagnostics import Diagnostic
from bbops.language.project import Project, Resource
from bbops.language.resources.function import Function
from bbops.language.steps._base import Step, every_step
from bbops.language.steps.transaction import Transaction

_HINT = "move it before or after the transaction"


def check(project: Project) -> Iterator[Diagnostic]:
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
            yield Diagnostic(function.at(step.mark, 0), "in-transaction", message, _HINT)
        for name in step.calls():
            found = _first_misfit(project, name, set())
            if found is not None:
                message = f"function '{name}' cannot be called inside a transaction"
                where = f"{_named(found[1])} in {found[0]} cannot be undone"
                yield Diagnostic(function.at(step.mark, 0), "in-transaction", message, where)


def _first_misfit(project: Project, name: str, seen: set[str]) -> tuple[str, Step] | None:
    """Return where a function, or one that it calls, does what cannot be undone."""
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
