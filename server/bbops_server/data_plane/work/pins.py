"""Keep the artifacts of releases that jobs have begun with, for as long as such a job is there.

A kept artifact is a hard link, so it costs no space while the server keeps the artifact anyway.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

from bbops.base.disk import replace_file

Code: TypeAlias = tuple[str, str]
"""The name of a trigger, task or function, and the digest of what it runs."""


class Pins:
    """The artifacts of one project that hold old code. Its methods read and write files."""

    def __init__(self, folder: Path) -> None:
        """Args: `folder`: is made when something is kept. It holds what artifacts hold: code."""
        self._folder = folder

    def keep(self, artifact: Path, codes: Iterable[Code]) -> None:
        """Keep an artifact, in which all of this code is; code that is kept already stays."""
        kept = self._kept()
        new = [key for key in map(_key, codes) if key not in kept]
        if new:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for key in new:
            _link(artifact, self._folder / f"{artifact.name}.{key}")

    def find(self, code: Code) -> Path | None:
        """Return the artifact that holds a code; None where it is not kept."""
        return self._kept().get(_key(code))

    def sweep(self, needed: Iterable[Code], before: float) -> None:
        """Forget everything else that was kept before a time, in seconds since 1970.

        What is newer may be of a release that is about to go live.
        """
        keys = {_key(code) for code in needed}
        for key, file in self._kept().items():
            if key not in keys and file.stat().st_ctime < before:  # a link sets it, and only that
                file.unlink(missing_ok=True)

    def _kept(self) -> dict[str, Path]:
        if not self._folder.is_dir():
            return {}
        return {file.suffix[1:]: file for file in self._folder.iterdir()}


def _key(code: Code) -> str:
    return hashlib.sha256("\0".join(code).encode()).hexdigest()[:32]


def _link(source: Path, target: Path) -> None:
    """Link a file, or copy it where the file system has no links."""
    try:
        os.link(source, target)
    except FileExistsError:
        return
    except OSError:
        replace_file(target, source.read_bytes())
