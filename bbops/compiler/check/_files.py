"""Files of a project: of its frontend, pointers of Git LFS, and YAML that nothing reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

from bbops.base.diagnostics import Diagnostic, Place
from bbops.language.loading.load import STRAY
from bbops.language.project import Project
from bbops.source.tree import Entry, Tree

# ---- The files of a frontend: which are served, and what keeps them from it

MOST_FILES: Final = 10_000
MOST_FILE_BYTES: Final = 256 << 20
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
    if size > MOST_FILE_BYTES:
        message = f"{what} has {size:,} bytes, at most {MOST_FILE_BYTES:,} are served"
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


# ---- Git LFS pointers: small texts that replace large files in git

MOST_BYTES: Final = 1_023
"""The specification of Git LFS: a pointer is less than 1,024 bytes."""

LFS_HINT: Final = (
    "publish the file itself: 'git lfs migrate export --include=PATH --everything' puts it into"
    " git, and a build with 'git lfs pull' before it has the files"
)
_LEAST_BYTES: Final = 100
_FIRST_LINES: Final = (b"version https://git-lfs.", b"version https://hawser.")


def is_pointer(data: bytes) -> bool:
    """Return whether the bytes of a file are a pointer of Git LFS."""
    return data.startswith(_FIRST_LINES) and b"\noid sha256:" in data[: MOST_BYTES + 1]


def may_be_pointer(size_bytes: int) -> bool:
    """Return whether a file of this size can be a pointer."""
    return _LEAST_BYTES <= size_bytes <= MOST_BYTES


def find_pointers(tree: Tree, entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield the files that are pointers. Reads those of their size only."""
    small = [one for one in entries if one.kind == "file" and may_be_pointer(one.size_bytes)]
    contents = tree.read([one.blob for one in small]) if small else {}
    return (one for one in small if is_pointer(contents.get(one.blob, b"")))


def check_pointers(tree: Tree, entries: Iterable[Entry]) -> Iterator[Diagnostic]:
    """Yield the files that would be served as pointers."""
    for entry in find_pointers(tree, entries):
        yield Diagnostic(
            Place(entry.path), "lfs-pointer",
            "the file is a Git LFS pointer, which would be published instead of its content",
            LFS_HINT.replace("PATH", entry.path),
        )  # fmt: skip


# ---- YAML that nothing reads: an error where a change adds it, a warning where it was there
# before


def keep_known_folders(
    found: tuple[Diagnostic, ...], find_before: Callable[[], Iterable[Diagnostic]]
) -> tuple[Diagnostic, ...]:
    """Return what reading a tree found, with a warning for each stray folder that it had before.

    Args:
        found: what is found now.
        find_before: returns what is found in what was accepted before.
    """
    if not any(is_stray(one) for one in found):
        return found
    known = {_top(one) for one in find_before() if is_stray(one)}
    return tuple(
        replace(one, severity="warning") if is_stray(one) and _top(one) in known else one
        for one in found
    )


def is_stray(one: Diagnostic) -> bool:
    """Return whether a finding is about YAML that lies outside of the folders of resources."""
    return one.code == STRAY or (one.code == "file-name" and "/" not in one.place.file)


def _top(one: Diagnostic) -> str:
    return one.place.file.partition("/")[0]
