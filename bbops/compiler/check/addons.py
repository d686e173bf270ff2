"""Addons of the project: known ones, with the settings they need."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.base.diagnostics import Diagnostic, suggest
from bbops.language.addons._base import kind, kinds
from bbops.language.project import Project
from bbops.language.resources._own_addon import OwnAddon


def check(project: Project) -> Iterator[Diagnostic]:
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
