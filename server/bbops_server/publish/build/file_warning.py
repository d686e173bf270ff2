"""Warn of local files if other servers may share the database."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from bbops.base.diagnostics import Diagnostic
from bbops.compiler.compile.release import Built

_ADDON: Final = "localStorage"


def warn_of_files(built: Built, *, stay_here: bool) -> Built:
    """Return a build, with a warning if it stores files that other servers lack.

    Args:
        built: the build of a project.
        stay_here: whether files are stored on this server, and servers may share the database.
    """
    addon = built.project.addons.get(_ADDON) if built.project else None
    if addon is None or not stay_here or not addon.model.enabled:
        return built
    warning = Diagnostic(
        addon.place("enabled", key=True), "local-storage-not-shared",
        "files of localStorage are on this server, and others with the same database lack them",
        "with several servers, set 'files' in server.yaml to a bucket of object storage",
        severity="warning",
    )  # fmt: skip
    return replace(built, diagnostics=(*built.diagnostics, warning))
