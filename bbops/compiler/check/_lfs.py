"""Git LFS pointers: small texts that replace large files in git."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from bbops.base.diagnostics import Diagnostic, Place
from bbops.source.tree import Entry, Tree

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
