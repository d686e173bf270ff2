"""Addons: state, settings and used steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from bbops.base.diagnostics import Diagnostic
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.compiler.check import CheckedProject
from bbops.language.addons._base import kind
from bbops.language.resources._own_addon import OwnAddon
from bbops.language.resources.addon import Addon
from bbops.language.steps._base import step_kinds
from bbops.review.outline.outline import AddonOutline, AddonStepOutline
from bbops.review.outline.resources import find_variables
from bbops.review.outline.steps import addon_of

_Uses = Mapping[str, Mapping[str, set[str]]]
"""The functions that use each step, by addon and key."""


def outline_addons(
    project: CheckedProject, diagnostics: Iterable[Diagnostic]
) -> Iterator[AddonOutline]:
    """Yield the addons that a project has, or whose steps it uses, by name."""
    uses, found = _uses(project), tuple(diagnostics)
    agents = {agent.model.model.addon for agent in project.agents.values()}
    for name in sorted({*project.addons, *uses, *agents}):
        yield _outline(project, name, uses.get(name, {}), found)


def _uses(project: CheckedProject) -> _Uses:
    found: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for name, function in project.functions.items():
        for step in function.model.every_step:
            if addon := addon_of(step):
                found[addon][step.key].add(name)
    return found


def _outline(
    project: CheckedProject, name: str, uses: Mapping[str, set[str]],
    diagnostics: Iterable[Diagnostic],
) -> AddonOutline:  # fmt: skip
    addon, known = project.addons.get(name), kind(name)
    model = addon.model if addon else None
    about = (model.description if model else None) or (known.about if known else "")
    read = find_variables(iter([addon])) if addon else {}
    every = project.agents.items()
    agents = (key for key, agent in every if agent.model.model.addon == name)
    steps = (
        AddonStepOutline(key, _step_title(project, name, key), tuple(sorted(functions)))
        for key, functions in sorted(uses.items())
    )
    return AddonOutline(
        name=name,
        title=known.title if known else name,
        description=about.strip(),
        file=addon.file if addon else "",
        line=1,
        is_enabled=model is not None and model.enabled,
        is_own=known is None,
        variables=tuple(sorted(read)),
        missing=tuple(_missing(name, model)),
        steps=tuple(steps),
        agents=tuple(sorted(agents)),
        problems=tuple(JsonDiagnostic.of(found) for found in diagnostics if _is_about(found, name)),
    )


def _step_title(project: CheckedProject, addon: str, key: str) -> str:
    step, known = key.partition(".")[2], kind(addon)
    if known is not None and step in known.actions:
        return known.actions[step].title
    own = project.own_actions.get(key)
    if own is not None and own.title:
        return own.title
    return step_kinds()[key].title if key in step_kinds() else key


def _missing(name: str, model: Addon | OwnAddon | None) -> Iterator[str]:
    """Yield the required settings that are missing in the configuration of an addon."""
    known = kind(name)
    if known is not None:
        if getattr(model, "config", None) is None:
            yield from known.needs_config
    elif isinstance(model, OwnAddon):
        yield from (key for key in model.secrets if key not in model.settings)


def _is_about(diagnostic: Diagnostic, name: str) -> bool:
    file, message = diagnostic.place.file, diagnostic.message
    is_own_file = file == f"addons/{name}.yaml" or file.startswith(f"addons/{name}/")
    return is_own_file or f"addon '{name}'" in message
