"""Pack what git tracks and nothing else: hatch knows only the top .gitignore, and packs strays."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))

import islands

WHEEL = {
    "bbops/": "bbops/",
    "server/bbops_server/": "bbops_server/",
}
"""Where the files of each folder lie in the wheel."""

ARCHIVES = {
    "docs/": "bbops/_assets/docs.tar.bz2",
    "project-template/": "bbops/_assets/project-template.tar.bz2",
    "server/bbops_server/control_plane/pages/": "bbops_server/control_plane/pages.tar.bz2",
}
"""Archives of folders in the wheel: packed together, texts take half the space."""
LEFT_OUT = ("docs/decisions/", "docs/example/", "docs/upcoming/", "docs/style.md", "docs/bench.md")
"""Pages for those who work on bbops: no command, page or tool of an installation reads them."""
SERVED = (".css", ".svg")
"""Files that the server sends as they are, so they are not packed."""


class TrackedFiles(BuildHookInterface[Any]):
    """Name each file of a wheel or source archive; an editable install names folders instead."""

    folder: TemporaryDirectory[str] | None = None

    def dependencies(self) -> list[str]:
        """Return Node as a requirement if islands must be built and there is no npm."""
        return islands.list_requirements(Path(self.root))

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files to what hatch packs by itself, which is nothing."""
        root = Path(self.root)
        reason = islands.build(root)
        if reason:
            self.app.display_warning(f"the dashboard is built without islands: {reason}")
        if version == "editable":
            return
        place = place_in_wheel if self.target_name == "wheel" else str
        files = [*tracked_files(root), *([] if reason else built_files(root))]
        named = {file: place(file) for file in files}
        build_data["force_include"].update({file: to for file, to in named.items() if to})
        if self.target_name == "wheel":
            self.folder = TemporaryDirectory()
            for folder, target in ARCHIVES.items():
                packed = pack(root, folder, files, Path(self.folder.name) / Path(target).name)
                build_data["force_include"][str(packed)] = target

    def finalize(self, *_: Any) -> None:
        """Remove the archives, which are in the wheel by now."""
        if self.folder:
            self.folder.cleanup()


def place_in_wheel(file: str) -> str:
    """Return where a file lies in the wheel; empty if it is packed, or not part of it."""
    if is_in_archive(file):
        return ""
    for folder, target in WHEEL.items():
        if file.startswith(folder):
            return target + file.removeprefix(folder)
    return ""


def is_in_archive(file: str) -> bool:
    """Return whether a file is packed with its folder."""
    is_packed = file.startswith(tuple(ARCHIVES)) and not file.startswith(LEFT_OUT)
    return is_packed and not (file.startswith("server/") and file.endswith(SERVED))


def pack(root: Path, folder: str, files: list[str], target: Path) -> Path:
    """Write the files of a folder into an archive, whose bytes depend on the files only."""
    with tarfile.open(target, "w:bz2") as archive:
        for file in sorted(files):
            if file.startswith(folder) and is_in_archive(file):
                data = (root / file).read_bytes()
                member = tarfile.TarInfo(file.removeprefix(folder))
                member.size = len(data)
                archive.addfile(member, BytesIO(data))
    return target


def built_files(root: Path) -> list[str]:
    """Return the files of the islands, which git ignores."""
    return [f"{islands.BUILT.as_posix()}/{path.name}" for path in (root / islands.BUILT).iterdir()]


def tracked_files(root: Path) -> list[str]:
    """Return the files git tracks; without a repository all of them: it is a source archive.

    The files of the islands are not among them.
    """
    if (root / ".git").exists():
        command = ["git", "-c", f"safe.directory={root}", "ls-files", "-z"]
        listed = subprocess.run(command, cwd=root, check=True, capture_output=True).stdout
        names = [name.decode() for name in listed.split(b"\0") if name]
        return [name for name in names if (root / name).is_file()]
    files = (path.relative_to(root) for path in sorted(root.rglob("*")) if path.is_file())
    return [path.as_posix() for path in files if is_packed(path)]


def is_packed(file: Path) -> bool:
    """Return whether a file of a source archive is part of the next one."""
    if file.is_relative_to(islands.BUILT) or "node_modules" in file.parts:
        return False
    return file.name != "PKG-INFO" and file.suffix != ".pyc"
