"""The part of a repository that is one project's: a folder, as a branch has it."""

from __future__ import annotations

from typing import NamedTuple


class Part(NamedTuple):
    """A folder of a repository, all of it where it is empty, as one branch has it."""

    branch: str
    folder: str

    def holds(self, path: str) -> bool:
        """Return whether a file is in the folder."""
        return not self.folder or path.startswith(f"{self.folder}/")
