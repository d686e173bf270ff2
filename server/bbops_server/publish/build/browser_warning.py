"""Warn of prints that fail on this server, or of a browser without a sandbox."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from bbops.base.diagnostics import Diagnostic
from bbops.compiler.compile.release import Built

_ADDON: Final = "htmlToPdf"


def warn_of_browser(built: Built, problem: str) -> Built:
    """Return a build, with a warning if it prints and the browser has a problem.

    Args:
        built: the build of a project.
        problem: the problem of this server's browser; empty without one.
    """
    addon = built.project.addons.get(_ADDON) if built.project else None
    if addon is None or not problem or not addon.model.enabled:
        return built
    warning = Diagnostic(
        addon.place("enabled", key=True), "addon-needs", problem, severity="warning"
    )  # fmt: skip
    return replace(built, diagnostics=(*built.diagnostics, warning))
