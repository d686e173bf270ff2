"""Outlines of projects, for tests."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.compiler.check import CheckedProject, validate
from bbops.review.outline.describe import outline_of
from bbops.review.outline.outline import FunctionOutline, Outline
from bbops.source.tree import FolderTree, MemoryTree, Tree
from bbops_server.process.messages.builds import WrittenOutline
from tests.conftest import ROOT, TEMPLATE, with_function
from tests.support.small_project import FILES

Source = Path | Mapping[str, str]

PROJECTS: dict[str, Source] = {
    **{path.name: path for path in sorted((ROOT / "tests/golden/projects").glob("*"))},
    "template": TEMPLATE, "small": FILES, "example": ROOT / "docs/example",
    "blog-sample": ROOT / "tests/samples/blog", "saas-sample": ROOT / "tests/samples/saas",
}  # fmt: skip
"""Projects without errors, by name."""


def open_tree(source: Source) -> Tree:
    """Return the files of a project."""
    return FolderTree(source) if isinstance(source, Path) else MemoryTree(dict(source))


@cache
def known_project(name: str) -> tuple[CheckedProject, Outline]:
    """Return a project of `PROJECTS`, with its outline."""
    return check_project(PROJECTS[name])


def check_project(source: Source) -> tuple[CheckedProject, Outline]:
    """Return a project without errors, and its outline."""
    tree = open_tree(source)
    project, diagnostics = validate(tree, base=tree)
    assert project is not None, diagnostics
    return project, outline_of(project, diagnostics)


def outline(source: Source) -> Outline:
    """Return the outline of a project without errors."""
    return check_project(source)[1]


def outline_function(text: str) -> FunctionOutline:
    """Return the outline of a function in the sample project."""
    functions = outline(with_function(text)).functions
    return next(function for function in functions if function.name == "run")


def render(source: Source) -> WrittenOutline:
    """Return the outline of a project as the server renders it, or its errors."""
    tree = open_tree(source)
    project, diagnostics = validate(tree, base=tree)
    if project is None:
        return WrittenOutline("", "", "b" * 40, [*map(JsonDiagnostic.of, diagnostics)])
    text = msgspec.json.encode(outline_of(project, diagnostics)).decode()
    return WrittenOutline(text, hashlib.sha256(text.encode()).hexdigest(), "a" * 40, [])


def read_text(source: Source, path: str) -> str | None:
    """Return the text of a file; None if it does not exist."""
    tree = open_tree(source)
    blobs = [entry.blob for entry in tree.entries() if entry.path == path]
    return tree.read(blobs)[blobs[0]].decode() if blobs else None
