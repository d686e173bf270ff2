"""The files of a project's folder, for commands that change them: all of a change, or nothing."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from bbops.base.errors import BbopsError
from bbops.source.tree import FolderTree, Tree, is_safe

Changes = Mapping[str, bytes | None]
"""New bytes by path from the project's root; None takes the file away."""


class Folder:
    """A project's folder as it was when this was made, with its files as bytes."""

    def __init__(self, root: Path, tree: Tree | None = None) -> None:
        """Args: `tree`: the files where they are not those on disk, as in an editor."""
        tree = tree or FolderTree(root)
        entries = [one for one in tree.entries() if one.kind == "file"]
        self.root = root
        self._blobs = {str(one.path): one.blob for one in entries}
        self.tree = tree

    @property
    def paths(self) -> list[str]:
        """Every file, sorted. Links are none."""
        return list(self._blobs)

    def read(self, paths: list[str]) -> dict[str, bytes]:
        """Return the bytes of files that are there."""
        known = {path: self._blobs[path] for path in paths if path in self._blobs}
        texts = self.tree.read(list(known.values()))
        return {path: texts[blob] for path, blob in known.items() if blob in texts}

    def apply(self, changes: Changes) -> None:
        """Write and remove files; when one fails, the others become again what they were.

        Raises:
            BbopsError: a file cannot be written, or leads out of the folder.
        """
        before = self.read(list(changes))
        done = list[str]()
        try:
            for path, data in changes.items():
                done.append(path)
                self._put(path, data)
        except OSError as error:
            for path in done:
                with contextlib.suppress(OSError):
                    self._put(path, before.get(path))
            reason = (error.strerror or "unknown error").lower()
            raise BbopsError(f"cannot write '{done[-1]}': {reason}; nothing was changed") from error

    def _put(self, path: str, data: bytes | None) -> None:
        target = self.root / path
        if not is_safe(path) or _leads_out(self.root, target):
            raise BbopsError(f"'{path}' is outside of the project's folder")
        if data is None:
            target.unlink(missing_ok=True)
            self._remove_empty(target.parent)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.with_name(f".{target.name}.new")
        beside.write_bytes(data)
        if target.exists():
            beside.chmod(target.stat().st_mode & 0o777)
        os.replace(beside, target)  # noqa: PTH105 - a Path's method of this name is str's, too

    def _remove_empty(self, folder: Path) -> None:
        while folder != self.root and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent


def find_root(path: Path) -> Path | None:
    """Return the project's folder that a path lies in; None if there is none."""
    here = path.resolve()
    return next((one for one in (here, *here.parents) if (one / "project.yaml").is_file()), None)


def _leads_out(root: Path, target: Path) -> bool:
    """Return whether a link on the way leads elsewhere."""
    return not target.parent.resolve().is_relative_to(root.resolve()) or target.is_symlink()
