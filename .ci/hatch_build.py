"""Pack what git tracks and nothing else: hatch knows only the top .gitignore, and packs strays."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WHEEL = {
    "bbops/": "bbops/",
    "server/bbops_server/": "bbops_server/",
    "docs/": "bbops/_assets/docs/",
    "project-template/": "bbops/_assets/project-template/",
    "schemas/": "bbops/_assets/schemas/",
}
"""Where the files of each folder lie in the wheel."""


class TrackedFiles(BuildHookInterface[Any]):
    """Name each file of a wheel or source archive; an editable install names folders instead."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files to what hatch packs by itself, which is nothing."""
        if version == "editable":
            return
        place = place_in_wheel if self.target_name == "wheel" else str
        named = {file: place(file) for file in tracked_files(Path(self.root))}
        build_data["force_include"].update({file: to for file, to in named.items() if to})


def place_in_wheel(file: str) -> str:
    """Return where a file lies in the wheel; empty if it is not part of it."""
    for folder, target in WHEEL.items():
        if file.startswith(folder):
            return target + file.removeprefix(folder)
    return ""


def tracked_files(root: Path) -> list[str]:
    """Return the files git tracks; without a repository all of them: it is a source archive."""
    if (root / ".git").exists():
        command = ["git", "-c", f"safe.directory={root}", "ls-files", "-z"]
        listed = subprocess.run(command, cwd=root, check=True, capture_output=True).stdout
        names = [name.decode() for name in listed.split(b"\0") if name]
        return [name for name in names if (root / name).is_file()]
    files = (path.relative_to(root) for path in sorted(root.rglob("*")) if path.is_file())
    return [path.as_posix() for path in files if path.name != "PKG-INFO" and path.suffix != ".pyc"]
