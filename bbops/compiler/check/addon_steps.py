"""Steps of addons that are not enabled: they publish, and fail when they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from bbops.base.diagnostics import Diagnostic, Place
from bbops.language.addons._base import AddonStep, kind
from bbops.language.project import Project
from bbops.language.steps.return_ import Return


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield a warning for each use of an addon that is disabled or absent."""
    for function in project.functions.values():
        for step in function.model.every_step:
            if isinstance(step, AddonStep):
                yield from _disabled(
                    project, step.id.partition(".")[0], f"'{step.id}'", function.at, step.mark
                )
            elif isinstance(step, Return) and (addon := step.return_.from_) is not None:
                place = step.place("from") or step.mark
                yield from _disabled(project, addon, "the response", function.at, place)
    for agent in project.agents.values():
        name = agent.model.model.addon
        if name in project.addons:
            yield from _disabled(project, name, "the agent", agent.place, "model", "addon")


def _disabled(
    project: Project, addon: str, what: str, place: Callable[..., Place], *at: Any
) -> Iterator[Diagnostic]:
    found = project.addons.get(addon)
    if found is None and kind(addon) is None:
        return  # which is an error, see `flows`
    if ("addons", addon) in project.broken or (found is not None and found.model.enabled):
        return
    state = "not enabled" if found is None else "disabled"
    yield Diagnostic(
        place(*at), "addon-disabled", f"{what} fails when it runs: addon '{addon}' is {state}",
        f"write 'enabled: true' in {found.file if found else f'a new addons/{addon}.yaml'}",
        severity="warning",
    )  # fmt: skip
