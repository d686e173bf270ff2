"""Rules across resources, one file each. A rule yields diagnostics; it never raises or prints.

Each module has `check(project) -> Iterator[Diagnostic]` and is found by being here.
"""

from __future__ import annotations

from bbops.diagnostics import Diagnostic, has_errors
from bbops.load import Cache, load
from bbops.project import Project
from bbops.registry import members
from bbops.tree import Tree


def validate(
    tree: Tree, cache: Cache | None = None
) -> tuple[Project | None, tuple[Diagnostic, ...]]:
    """Return the project of a tree and everything that is wrong with it."""
    loaded = load(tree, cache)
    if loaded.project is None:
        return None, loaded.diagnostics
    found = tuple(sorted({*loaded.diagnostics, *check(loaded.project)}))
    return (None if has_errors(found) else loaded.project), found


def check(project: Project) -> tuple[Diagnostic, ...]:
    """Return everything the rules find, sorted by place."""
    found = {d for _, rule in members("bbops.check") for d in rule.check(project)}
    return tuple(sorted(found))
