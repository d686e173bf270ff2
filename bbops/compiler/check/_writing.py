"""Find the steps with which a function changes data that lasts, or reaches other services."""

from __future__ import annotations

from typing import NamedTuple

from bbops.compiler.check._order import called
from bbops.language.addons._base import AddonStep, kind
from bbops.language.project import Project, Resource
from bbops.language.resources.function import Function
from bbops.language.steps._base import Step
from bbops.language.steps.sql import Sql


class WritingStep(NamedTuple):
    """A step that writes, and its function."""

    function: Resource[Function]
    step: Step


def find_writing_step(project: Project, name: str) -> WritingStep | None:
    """Return the first step that writes in a function, or in those that it calls."""
    for callee in sorted(called(project, [name]), key=lambda callee: callee != name):
        function = project.functions[callee]
        for step in function.model.every_step:
            if is_writing(project, step):
                return WritingStep(function, step)
    return None


def is_writing(project: Project, step: Step) -> bool:
    """Return whether a step writes; of an addon's, what its declaration says."""
    if isinstance(step, Sql):
        return step.sql.mode == "write"
    if not isinstance(step, AddonStep):
        return step.writes
    addon, _, name = step.id.partition(".")
    if kind(addon) is not None:
        return step.action.writes
    own = project.own_steps.get(addon, {}).get(name)
    return own is None or own.model.writes
