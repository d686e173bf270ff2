"""The documentation and the project template: archives in an installation, else folders."""

from __future__ import annotations

import tarfile
from pathlib import Path

from bbops.base.errors import BbopsError

_PACKAGE = Path(__file__).parent.parent


def read_template() -> dict[str, bytes]:
    """Return the files of `project-template` by path, without the state of a run in a checkout.

    Raises:
        BbopsError: this installation lacks them.
    """
    files = _read_assets("project-template", "*")
    return {
        path: data for path, data in files.items()
        if path != ".env" and not path.startswith(".bbops/")
    }  # fmt: skip


def read_documentation(folder: str = "") -> dict[str, str]:
    """Return the Markdown pages of docs, or of a folder in it, by path below it, sorted.

    Raises:
        BbopsError: this installation lacks them.
    """
    pages = _read_assets("docs", "*.md")
    start = f"{folder}/" if folder else ""
    return {
        path.removeprefix(start): pages[path].decode()
        for path in sorted(pages) if path.startswith(start)
    }  # fmt: skip


def unpack(archive: Path) -> dict[str, bytes]:
    """Return the files of a tar archive. Packed together, texts take half the space of a wheel."""
    with tarfile.open(archive) as packed:  # read in order: a way back unpacks from the start
        files = ((member.name, packed.extractfile(member)) for member in packed)
        return {name: file.read() for name, file in files if file}


def _read_assets(name: str, pattern: str) -> dict[str, bytes]:
    packed, beside = _PACKAGE / "_assets" / f"{name}.tar.bz2", _find_beside(name)
    if packed.is_file():
        return unpack(packed)
    if beside is None:
        raise BbopsError(
            f"this installation is incomplete: it has no '{name}'", hint="reinstall bbops"
        )
    files = sorted(file for file in beside.rglob(pattern) if file.is_file())
    return {file.relative_to(beside).as_posix(): file.read_bytes() for file in files}


def _find_beside(name: str) -> Path | None:
    """Return a folder of the checkout; beside an installed package, `docs` is not ours."""
    checkout = _PACKAGE.parent
    has_folder = (checkout / "pyproject.toml").is_file() and (checkout / name).is_dir()
    return checkout / name if has_folder else None
