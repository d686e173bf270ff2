"""Env variables that resources name must be declared, and those that hold secrets marked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bbops.base.diagnostics import Diagnostic, suggest
from bbops.base.names import env_name
from bbops.language.addons._base import kind
from bbops.language.project import Project, Resource
from bbops.language.resources.addon import Addon
from bbops.language.resources.trigger import Webhook

Reference = tuple[Resource[Any], tuple[str | int, ...], str | None, bool]
"""(file, where in it, `${ env.NAME }`, whether it is a secret)."""


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield names that are not declared; warn of secrets that are not marked so, or in git."""
    yield from _of_defaults(project)
    declared = project.settings.model.env
    for resource, path, reference, is_secret in _references(project):
        name = env_name(reference or "")
        if name and name not in declared:
            yield Diagnostic(
                resource.place(*path), "unknown-env", f"env variable '{name}' is not declared",
                suggest(name, declared) or f"add 'env: {{ {name}: {{ secret: true }} }}'",
            )  # fmt: skip
        elif name and is_secret and not declared[name].secret:
            yield Diagnostic(
                resource.place(*path), "not-secret",
                f"env variable '{name}' holds a secret here, but is not marked as one",
                f"write '{name}: {{ secret: true }}' in project.yaml, so that it is never shown",
                severity="warning",
            )  # fmt: skip


def _of_defaults(project: Project) -> Iterator[Diagnostic]:
    """Yield defaults that everybody reads in git, or that never count."""
    settings = project.settings
    for name, variable in settings.model.env.items():
        place = settings.place("env", name, "default")
        if variable.default is not None and variable.generate:
            yield Diagnostic(
                place, "bad-value",
                f"'{name}' is made up by 'generate', so its default never counts",
                "leave one of them out",
            )  # fmt: skip
        elif variable.default is not None and variable.secret:
            yield Diagnostic(
                place, "bad-value", f"the default of the secret '{name}' can be read in git",
                f"leave it out, and set it on the server: 'bbops env set {name}'",
                severity="warning",
            )  # fmt: skip


def _references(project: Project) -> Iterator[Reference]:
    settings, auth = project.settings, project.settings.model.auth
    if auth is not None:
        yield settings, ("auth", "signingKey"), auth.signing_key, True
        for at, key in enumerate(auth.keys):
            yield settings, ("auth", "keys", at, "key"), key.key, key.algorithm.startswith("HS")
    for addon in project.addons.values():
        yield from _of_addon(addon)
    for trigger in project.triggers.values():
        yield from _of_webhook(trigger, trigger.model.webhook, "webhook")
    for agent in project.agents.values():
        yield from _of_webhook(agent, agent.model.runs_on.webhook, "runsOn", "webhook")


def _of_addon(addon: Resource[Addon]) -> Iterator[Reference]:
    found, config = kind(addon.name), addon.model.config
    if found is None or config is None:
        return
    for name, field in found.config.model_fields.items():
        key = field.alias or name
        value = getattr(config, name)
        yield addon, ("config", key), value, key in found.secrets


def _of_webhook(
    resource: Resource[Any], webhook: Webhook | None, *path: str
) -> Iterator[Reference]:
    if webhook is not None:
        yield resource, (*path, "signature", "secret"), webhook.signature.secret, True
