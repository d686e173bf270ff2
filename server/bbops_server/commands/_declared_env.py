"""The env variables that a project declares, for warnings about names that no release reads."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from bbops.base.diagnostics import find_nearest
from bbops.base.errors import BbopsError

RECORD: Final = "publication.json"
"""The file of a state folder with the record of the live release."""


class _Declarations(msgspec.Struct):
    """The part of the record with the declared variables."""

    env: dict[str, Any]


def warn_undeclared(name: str, state: Path, folder: Path) -> str:
    """Return a warning about a variable that the live release does not declare; empty without one.

    A variable in the working folder's project.yaml is on its way to a release. Nothing is known
    before the first publication.

    Args:
        state: the state folder of the project.
        folder: the working folder.
    """
    declared = _read_live(state)
    if declared is None or name in declared or name in _read_folder(folder):
        return ""
    near = find_nearest(name, sorted(declared))
    meant = f" (did you mean '{near}'?)" if near else ""
    return f"project.yaml of the live release does not declare '{name}'{meant}"


def _read_live(state: Path) -> frozenset[str] | None:
    """Return the variables of the live release; None without a readable record."""
    try:
        record = msgspec.json.decode((state / RECORD).read_bytes(), type=_Declarations)
    except (OSError, msgspec.MsgspecError):
        return None
    return frozenset(record.env)


def _read_folder(folder: Path) -> Iterable[str]:
    """Return the variables of a folder's project.yaml; none if it cannot be read."""
    if not (folder / "project.yaml").is_file():
        return ()
    from bbops.language.loading.load import load  # noqa: PLC0415 - pydantic; only for a warning
    from bbops.source.tree import FolderTree  # noqa: PLC0415

    try:
        project = load(FolderTree(folder)).project
    except BbopsError:
        return ()
    return project.settings.model.env if project is not None else ()
