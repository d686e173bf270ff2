"""Warn of prints that fail on this server, or of a browser that is not confined."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from bbops.base.diagnostics import Diagnostic
from bbops.build.compile.release import Built

_ADDON: Final = "htmlToPdf"


def warn_of_browser(built: Built, trouble: str) -> Built:
    """Return what was built, with a warning if it prints.

    Args:
        built: a project.
        trouble: what is wrong with the browser of this server; empty for nothing.
    """
    addon = built.project.addons.get(_ADDON) if built.project else None
    if addon is None or not trouble or not addon.model.enabled:
        return built
    found = Diagnostic(
        addon.place("enabled", key=True), "addon-needs", trouble, severity="warning"
    )  # fmt: skip
    return replace(built, diagnostics=(*built.diagnostics, found))
