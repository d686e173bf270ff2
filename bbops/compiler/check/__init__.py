"""Rules across resources, one file a subject. A rule yields diagnostics; it never raises or prints.

Each module has `check(project) -> Iterator[Diagnostic]` and is found by being here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from bbops.base.diagnostics import Diagnostic, has_errors
from bbops.base.registry import members
from bbops.compiler.check._checked import CheckedProject, check_again
from bbops.compiler.check._files import check_frontend, keep_known_folders
from bbops.compiler.check._signers import check_signers
from bbops.compiler.check._supported import check_supported
from bbops.language.loading.load import LoadCache, Loaded, load
from bbops.language.project import Project
from bbops.source.tree import Tree

__all__ = ("Cache", "CheckedProject", "check", "validate")


@dataclass(slots=True)
class Cache:
    """What whoever checks a project again and again keeps.

    Attributes:
        project: as it was checked last; what could not be read is missing in it.
    """

    files: LoadCache = field(default_factory=LoadCache)
    project: CheckedProject | None = None


def validate(
    tree: Tree, cache: Cache | None = None, *, base: Tree | None = None
) -> tuple[CheckedProject | None, tuple[Diagnostic, ...]]:
    """Return the project of a tree and everything that is wrong with it.

    O(changed files) with a warm cache, plus what is looked at as a whole, such as the routes.

    Args:
        base: what was accepted before; the tree itself where it is only read. What it holds that
            this version does not run is a warning; anything more is an error.
    """
    cache = cache or Cache()
    loaded = load(tree, cache.files)
    if loaded.project is None:
        return None, loaded.diagnostics
    project = check_again(loaded.project, cache.project)
    before = _Before(base, loaded if base is tree else None, cache.files)
    rules = {*check(project), *check_frontend(project, tree), *check_signers(project, tree)}
    unsupported = {
        one for one in check_supported(project, before.project)
        if one.place.file not in project.repaired
    }  # fmt: skip
    read = keep_known_folders(loaded.diagnostics, before.diagnostics)
    found = tuple(sorted({*read, *rules, *unsupported}))
    cache.project = project
    return (None if has_errors(found) else project), found


@dataclass(slots=True)
class _Before:
    """What was accepted before, read when somebody asks."""

    tree: Tree | None
    loaded: Loaded | None
    files: LoadCache

    def project(self) -> Project | None:
        found = self._load()
        return found.project if found else None

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        found = self._load()
        return found.diagnostics if found else ()

    def _load(self) -> Loaded | None:
        if self.loaded is None and self.tree is not None:
            self.loaded = load(self.tree, self.files)
        return self.loaded


def check(project: Project) -> tuple[Diagnostic, ...]:
    """Return everything the rules find, sorted by place.

    Nothing is said of a file that was read as it was meant: what is wrong there is known already.
    """
    checked = CheckedProject.of(project)
    found = {d for _, rule in members("bbops.compiler.check") for d in rule.check(checked)}
    return tuple(_first(sorted(one for one in found if one.place.file not in project.repaired)))


_ELSEWHERE: Final = frozenset({"long-claim"})
"""Codes of warnings whose cause is a column, which one change fixes for every function."""


def _first(found: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Yield the diagnostics, and the first of several with the same cause in another file."""
    reported: set[str] = set()
    for diagnostic in found:
        if diagnostic.code not in _ELSEWHERE or diagnostic.message not in reported:
            yield diagnostic
        reported.add(diagnostic.message)
