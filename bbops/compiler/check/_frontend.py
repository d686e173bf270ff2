"""The files of a frontend: which are served, and what keeps them from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bbops.base.diagnostics import Diagnostic, Place
from bbops.compiler.check._lfs import check_pointers, find_pointers
from bbops.language.project import Project
from bbops.source.tree import Entry, Tree

MOST_FILES: Final = 10_000
MOST_BYTES: Final = 256 << 20
LARGEST_BYTES: Final = 32 << 20
_DOCS: Final = "docs/"
_SHOWN: Final = ".well-known"
"""The one folder with a dot that the web asks for: RFC 8615."""


def check_frontend(project: Project, tree: Tree) -> Iterator[Diagnostic]:
    """Yield the reasons why a project's frontend or docs cannot be served."""
    yield from check_pointers(tree, (one for one in tree.entries() if one.path.startswith(_DOCS)))
    settings = project.settings.model.frontend
    if settings is None:
        return
    found = list(_entries(tree, settings.directory))
    for _, entry in found:
        if entry.kind != "file":
            yield Diagnostic(
                Place(entry.path), "not-a-file", f"a {entry.kind} is not served",
                "commit the file itself instead",
            )  # fmt: skip
        elif entry.size_bytes > LARGEST_BYTES:
            yield Diagnostic(
                Place(entry.path), "frontend-too-large",
                f"the file has {entry.size_bytes:,} bytes, at most {LARGEST_BYTES:,} are served",
                "keep larger files in object storage, and link to them",
            )  # fmt: skip
    yield from check_pointers(tree, (entry for _, entry in found))
    yield from _check_all(project, [entry for _, entry in found])


def check_published(project: Project, tree: Tree, name: str) -> Iterator[Diagnostic]:
    """Yield what keeps a frontend from being served that was tagged without the project's commits.

    Args:
        project: it is of.
        tree: with its files alone.
        name: of the tag.
    """
    found = [entry for _, entry in find_files(tree, "")]
    yield from _check_all(project, found, f"frontend '{name}'")
    for pointer in find_pointers(tree, found):
        yield Diagnostic(
            project.settings.place("frontend", key=True), "lfs-pointer",
            f"'{pointer.path}' of frontend '{name}' is a Git LFS pointer, which would be published"
            " instead of its content", "run 'git lfs pull', build, and publish the next number",
        )  # fmt: skip
    largest = max((one.size_bytes for one in found), default=0)
    if largest > LARGEST_BYTES:
        yield Diagnostic(
            project.settings.place("frontend", key=True), "frontend-too-large",
            f"a file of frontend '{name}' has {largest:,} bytes, at most {LARGEST_BYTES:,}"
            " are served",
            "publish one without it, and keep larger files in object storage",
        )  # fmt: skip


def _check_all(
    project: Project, found: list[Entry], what: str = "the frontend"
) -> Iterator[Diagnostic]:
    at = project.settings.place("frontend", key=True)
    size = sum(one.size_bytes for one in found)
    if len(found) > MOST_FILES:
        message = f"{what} has {len(found):,} files, at most {MOST_FILES:,} are served"
        yield Diagnostic(at, "frontend-too-large", message, "remove files that no page needs")
    if size > MOST_BYTES:
        message = f"{what} has {size:,} bytes, at most {MOST_BYTES:,} are served"
        yield Diagnostic(at, "frontend-too-large", message, "keep large files in object storage")


def find_files(tree: Tree, folder: str) -> Iterator[tuple[str, Entry]]:
    """Yield the path that answers with each file, `/assets/app.js`, and the file.

    Args:
        tree: with the files.
        folder: that is served; empty for all of the tree.
    """
    return ((path, one) for path, one in _entries(tree, folder) if one.kind == "file")


def _entries(tree: Tree, folder: str) -> Iterator[tuple[str, Entry]]:
    start = f"{folder}/" if folder else ""
    for entry in tree.entries():
        if entry.path.startswith(start):
            path = entry.path[len(start) :]
            parts = path.split("/")
            if not any(part.startswith(".") and part != _SHOWN for part in parts):
                yield f"/{path}", entry
