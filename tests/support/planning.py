"""Read the golden folders of tests/plans: what a project was, and what it is to become.

`project/` is what all cases begin with. The files in a case's `base/` and then in its `head/` take
the place of those; an empty file takes one away. `live.json` is what a live database reports.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bbops.base.diagnostics import has_errors
from bbops.compiler.check import Cache, validate
from bbops.language.project import Project
from bbops.review.plan.live import complete, read_answer
from bbops.review.plan.plan import Document, describe, plan
from bbops.source.tree import FolderTree, MemoryTree
from tests.conftest import ROOT, Files

FOLDER = ROOT / "tests/plans"
_CACHE = Cache()
CASES = sorted(path for path in FOLDER.iterdir() if (path / "head").is_dir())


@dataclass(frozen=True)
class Sides:
    """The files of a case before and after."""

    base: Files
    head: Files
    live: bytes = b""

    @property
    def document(self) -> Document:
        """The plan between them."""
        base, head = MemoryTree(self.base, "base"), MemoryTree(self.head, "head")
        found = plan(project(self.base), project(self.head))
        return describe(complete(found, read_answer(self.live)) if self.live else found, base, head)


def read_case(folder: Path) -> Sides:
    base = starting_files() | files_of(folder / "base")
    live = folder / "live.json"
    return Sides(
        without_empty(base), without_empty(base | files_of(folder / "head")),
        live.read_bytes() if live.is_file() else b"",
    )  # fmt: skip


@cache
def starting_files() -> Files:
    return files_of(FOLDER / "project")


def files_of(folder: Path) -> Files:
    if not folder.is_dir():
        return {}
    return {one.path: (folder / one.path).read_text() for one in FolderTree(folder).entries()}


def without_empty(files: Files) -> Files:
    return {path: text for path, text in files.items() if text}


def project(files: Files) -> Project:
    """Return the project of files that have no mistakes, and that were live before."""
    tree = MemoryTree(files)
    found, diagnostics = validate(tree, _CACHE, base=tree)
    assert found is not None, [str(one) for one in diagnostics]
    assert not has_errors(diagnostics)
    return found
