"""Steps of addons that are not enabled: they publish, and fail when they run."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.addons._base import AddonStep, kind
from bbops.diagnostics import Diagnostic, Place
from bbops.project import Project
from bbops.steps._base import every_step


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield a warning for each use of an addon that is disabled or absent."""
    for function in project.functions.values():
        for step in every_step(function.model.steps):
            if isinstance(step, AddonStep):
                place = function.at(step.mark)
                yield from _disabled(project, place, step.id.partition(".")[0], f"'{step.id}'")
    for agent in project.agents.values():
        name = agent.model.model.addon
        if kind(name) is not None:
            yield from _disabled(project, agent.place("model", "addon"), name, "the agent")


def _disabled(project: Project, place: Place, addon: str, what: str) -> Iterator[Diagnostic]:
    found = project.addons.get(addon)
    if ("addons", addon) in project.broken or (found is not None and found.model.enabled):
        return
    state = "not enabled" if found is None else "disabled"
    yield Diagnostic(
        place, "addon-disabled", f"{what} fails when it runs: addon '{addon}' is {state}",
        f"write 'enabled: true' in {found.file if found else f'a new addons/{addon}.yaml'}",
        severity="warning",
    )  # fmt: skip
