"""Addons: known ones and the project's own, with their settings and steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from bbops.base.diagnostics import Diagnostic, Place, suggest
from bbops.base.names import env_name
from bbops.compiler.check._checked import CheckedProject
from bbops.language.addons._base import AddonStep, kind, kinds
from bbops.language.project import Project, Resource
from bbops.language.resources._own_addon import ENDPOINT, OwnAddon, OwnStep
from bbops.language.steps.return_ import Return


def check(project: CheckedProject) -> Iterator[Diagnostic]:
    """Yield the mistakes of addons and of their steps."""
    yield from _check_addons(project)
    yield from _check_addon_steps(project)
    yield from _check_own_addons(project)


def _check_addons(project: Project) -> Iterator[Diagnostic]:
    """Yield files of addons that do not exist, and enabled ones without settings."""
    for name, addon in project.addons.items():
        found = kind(name)
        if found is None:
            if not (isinstance(addon.model, OwnAddon) and addon.model.is_own):
                yield Diagnostic(
                    addon.place(), "unknown-addon", f"addon '{name}' does not exist",
                    suggest(name, kinds()) or f"{_OWN}; others are: " + ", ".join(kinds()),
                )  # fmt: skip
        elif addon.model.enabled and addon.model.config is None and found.needs_config:
            yield Diagnostic(
                addon.place("config", key=True), "missing-key", "'config' is missing",
                "it needs " + ", ".join(found.needs_config),
            )  # fmt: skip


_OWN = "one of your own needs a 'server', such as https://api.example.com"


def _check_addon_steps(project: Project) -> Iterator[Diagnostic]:
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


_CODE = "addon-step"


def _check_own_addons(project: Project) -> Iterator[Diagnostic]:
    """Yield settings that are missing or not secret, and steps that cannot be sent as they are."""
    for addon in project.addons.values():
        if isinstance(addon.model, OwnAddon) and addon.model.is_own:
            yield from _settings(project, addon, addon.model)
    for name, step in project.resources["addons"].items():
        owner, slash, _ = name.partition("/")
        if slash:
            yield from _belongs(project, owner, step)


# ---- settings
def _settings(project: Project, addon: Resource[Any], model: OwnAddon) -> Iterator[Diagnostic]:
    if model.server is not None and model.mcp is not None:
        message = "an addon has 'server' or 'mcp', not both"
        yield Diagnostic(addon.place("mcp", key=True), _CODE, message)
    used = dict.fromkeys(model.secrets, "'auth'")
    for name, step in project.own_steps[addon.name].items():
        used = dict.fromkeys(step.model.from_settings.values(), f"step '{name}'") | used
    for key, by in used.items():
        if key not in model.settings:
            yield Diagnostic(
                addon.place("config", key=True), "addon-config",
                f"setting '{key}' is missing under 'config': {by} needs it",
                suggest(key, model.settings) or f"add '{key}: ${{ env.NAME }}'",
            )  # fmt: skip
    for key, value in model.settings.items():
        if key in model.secrets and not env_name(value):
            yield Diagnostic(
                addon.place("config", key), "bad-name", f"'{key}' needs exactly '${{ env.NAME }}'",
                "declare the name under 'env'; its value is never stored in the repository",
            )  # fmt: skip
        elif key not in used and key != ENDPOINT and not _has_broken(project, addon.name):
            yield Diagnostic(
                addon.place("config", key, key=True), "addon-config",
                f"nothing uses the setting '{key}'",
                suggest(key, used) or "name it under 'auth', or under 'in' of a step",
            )  # fmt: skip


def _has_broken(project: Project, addon: str) -> bool:
    return any(
        name.startswith(f"{addon}/") for folder, name in project.broken if folder == "addons"
    )


# ---- steps
def _belongs(project: Project, owner: str, step: Resource[OwnStep]) -> Iterator[Diagnostic]:
    if ("addons", owner) in project.broken:
        return
    if kind(owner) is not None:
        yield Diagnostic(
            step.place(), _CODE, f"addon '{owner}' is one of the catalog, and has its own steps",
            "put it under another name, with a 'server' of its own",
        )  # fmt: skip
    elif owner not in project.addons:
        own = [name for name, one in project.addons.items() if isinstance(one.model, OwnAddon)]
        yield Diagnostic(
            step.place(), "unknown-addon", f"addon '{owner}' does not exist",
            suggest(owner, own) or f"write addons/{owner}.yaml with its 'server'",
        )  # fmt: skip
    else:
        addon: Any = project.addons[owner].model
        yield from _fits(addon, step)
        yield from _places(step)


def _fits(addon: OwnAddon, step: Resource[OwnStep]) -> Iterator[Diagnostic]:
    model = step.model
    if addon.mcp is not None and model.tool is None:
        message = "its addon is an MCP server, so a step has 'tool' in the place of 'request'"
        yield Diagnostic(step.place("request", key=True), _CODE, message)
    elif addon.server is not None and model.tool is not None:
        message = "'tool' is for addons with 'mcp'; this one has a 'server'"
        yield Diagnostic(step.place("tool", key=True), _CODE, message)
    if model.tool is not None and model.in_:
        message = "the parameters of a tool are its arguments, so 'in' has no meaning here"
        yield Diagnostic(step.place("in", key=True), _CODE, message)


def _places(step: Resource[OwnStep]) -> Iterator[Diagnostic]:
    model, names = step.model, step.model.names
    for name in model.in_:
        if name not in names and name not in model.from_settings:
            yield Diagnostic(
                step.place("in", name, key=True), _CODE, f"there is no parameter '{name}'",
                suggest(name, names) or "declare it under 'parameters'",
            )  # fmt: skip
        elif name in names and name in model.from_settings:
            message = f"'{name}' comes from a setting, so steps cannot give it"
            hint = "remove it from 'parameters'"
            yield Diagnostic(step.place("parameters", name, key=True), _CODE, message, hint)
    if model.request is None:
        return
    yield from _path(step)
    yield from _body(step)


def _path(step: Resource[OwnStep]) -> Iterator[Diagnostic]:
    model = step.model
    holes = model.request.holes if model.request else ()
    every = (*model.names, *model.from_settings)
    in_path = {
        there: name for name in every for at, there in [model.place_of(name)] if at == "path"
    }
    for hole in holes:
        name = in_path.get(hole)
        if name is None:
            yield Diagnostic(
                step.place("request", "path"), _CODE, f"nothing fills '{{{hole}}}' of the path",
                suggest(hole, model.names) or f"declare the parameter '{hole}'",
            )  # fmt: skip
        elif f"{name}?" in model.parameters:
            message = f"'{name}' is part of the path, so it cannot be left out"
            hint = f"write '{name}' without '?'"
            yield Diagnostic(step.place("parameters", f"{name}?", key=True), _CODE, message, hint)
    for there, name in in_path.items():
        if there not in holes:
            message = f"the path has no '{{{there}}}'"
            yield Diagnostic(step.place("in", name), _CODE, message, suggest(there, holes))


def _body(step: Resource[OwnStep]) -> Iterator[Diagnostic]:
    model, request = step.model, step.model.request
    places = {name: model.place_of(name)[0] for name in (*model.names, *model.from_settings)}
    in_body = [name for name, at in places.items() if at in {"body", "whole"}]
    if request is not None and request.verb in {"GET", "HEAD"}:
        for name in in_body:
            message = f"a {request.verb} has no body, so '{name}' cannot be in it"
            yield Diagnostic(step.place("in", name), _CODE, message, "write 'query'")
    if len(in_body) > 1 and "whole" in places.values():
        name = next(name for name, at in places.items() if at == "whole")
        message = f"'{name}' is the whole body, so nothing else can be in it"
        yield Diagnostic(step.place("in", name), _CODE, message)
    for name, at in places.items():
        field = model.parameters.get(name) or model.parameters.get(f"{name}?")
        base = field.parts[0] if field else "string"
        if base in {"object", "json"} and at in {"path", "header"}:
            message = f"'{name}' is in the {at}, so it needs a type that is one text"
            yield Diagnostic(step.place("parameters", name), _CODE, message, "such as 'string'")
