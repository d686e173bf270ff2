"""Find the files that bbops brings along: inside the package, in a checkout beside it."""

from __future__ import annotations

import tarfile
from pathlib import Path

from bbops.base.errors import BbopsError

_PACKAGE = Path(__file__).parent.parent
_PAGES = "docs.tar.bz2"
"""The pages of docs in an installation: packed together, they take half the space."""


def asset_folder(name: str) -> Path:
    """Return the folder `project-template`.

    Raises:
        BbopsError: this installation lacks it.
    """
    packed = _PACKAGE / "_assets" / name
    found = packed if packed.is_dir() else _find_beside(name)
    if found is None:
        raise _incomplete(f"folder '{name}'")
    return found


def read_documentation(folder: str = "") -> dict[str, str]:
    """Return the Markdown pages of docs, or of a folder in it, by path below it, sorted.

    Raises:
        BbopsError: this installation lacks them.
    """
    packed, beside = _PACKAGE / "_assets" / _PAGES, _find_beside("docs")
    if packed.is_file():
        pages = _unpack(packed)
    elif beside:
        files = beside.rglob("*.md")
        pages = {file.relative_to(beside).as_posix(): file.read_bytes() for file in files}
    else:
        raise _incomplete("pages of docs")
    start = f"{folder}/" if folder else ""
    return {
        path.removeprefix(start): pages[path].decode()
        for path in sorted(pages) if path.startswith(start)
    }  # fmt: skip


def _find_beside(name: str) -> Path | None:
    """Return a folder of the checkout; beside an installed package, `docs` is not ours."""
    checkout = _PACKAGE.parent
    has_folder = (checkout / "pyproject.toml").is_file() and (checkout / name).is_dir()
    return checkout / name if has_folder else None


def _unpack(packed: Path) -> dict[str, bytes]:
    with tarfile.open(packed) as archive:  # read in order: a way back unpacks from the start
        files = ((member.name, archive.extractfile(member)) for member in archive)
        return {name: file.read() for name, file in files if file}


def _incomplete(missing: str) -> BbopsError:
    return BbopsError(
        f"this installation is incomplete: it has no {missing}", hint="reinstall bbops"
    )
