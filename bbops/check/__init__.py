"""Rules across resources, one file each. A rule yields diagnostics; it never raises or prints.

Each module has `check(project) -> Iterator[Diagnostic]` and is found by being here.
"""

from __future__ import annotations

from bbops.diagnostics import Diagnostic
from bbops.project import Project
from bbops.registry import members


def check(project: Project) -> tuple[Diagnostic, ...]:
    """Return everything the rules find, sorted by place.

    Nothing is said of a file that was read as it was meant: what is wrong there is known already.
    """
    found = {d for _, rule in members("bbops.check") for d in rule.check(project)}
    return tuple(sorted(one for one in found if one.place.file not in project.mended))
