"""Rules across resources, one file each. A rule yields diagnostics; it never raises or prints.

Each module has `check(project) -> Iterator[Diagnostic]` and is found by being here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bbops.check._again import take_over
from bbops.check._frontend import check_frontend
from bbops.diagnostics import Diagnostic, has_errors
from bbops.load import Cache as LoadCache
from bbops.load import load
from bbops.project import Project
from bbops.registry import members
from bbops.tree import Tree


@dataclass(slots=True)
class Cache:
    """What whoever checks a project again and again keeps.

    Attributes:
        project: as it was checked last; what could not be read is missing in it.
    """

    files: LoadCache = field(default_factory=LoadCache)
    project: Project | None = None


def validate(
    tree: Tree, cache: Cache | None = None
) -> tuple[Project | None, tuple[Diagnostic, ...]]:
    """Return the project of a tree and everything that is wrong with it.

    O(changed files) with a warm cache, plus what is looked at as a whole, such as the routes.
    """
    cache = cache or Cache()
    loaded = load(tree, cache.files)
    if loaded.project is None:
        return None, loaded.diagnostics
    rules = {*check(loaded.project, cache.project), *check_frontend(loaded.project, tree)}
    found = tuple(sorted({*loaded.diagnostics, *rules}))
    cache.project = loaded.project
    return (None if has_errors(found) else loaded.project), found


def check(project: Project, before: Project | None = None) -> tuple[Diagnostic, ...]:
    """Return everything the rules find, sorted by place.

    Nothing is said of a file that was read as it was meant: what is wrong there is known already.

    Args:
        before: the project as it was checked last; what did not change is not checked again.
    """
    if before is not None:
        take_over(project, before)
    found = {d for _, rule in members("bbops.check") for d in rule.check(project)}
    return tuple(sorted(one for one in found if one.place.file not in project.mended))
