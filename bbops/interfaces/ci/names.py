"""The name of a project, also of a project with errors."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bbops.base.errors import BbopsError
from bbops.interfaces.ci.files import read_file
from bbops.language.loading.load import load
from bbops.source.tree import MemoryTree

_FILE: Final = "project.yaml"
_MAX_BYTES: Final = 1 << 20


def project_name(folder: Path) -> str:
    """Return the name in project.yaml; the name of the folder if the file has errors."""
    try:
        data = read_file(folder / _FILE, _MAX_BYTES)
    except BbopsError:
        data = None
    project = load(MemoryTree({_FILE: data})).project if data else None
    return project.settings.model.name if project else folder.resolve().name
