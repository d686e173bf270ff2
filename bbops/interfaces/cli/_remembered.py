"""What `bbops validate` found last: files that have not changed since are not checked again.

A finding depends on the files and on the code that checks them, so the name of what is kept is a
hash of both. It lies in the user's own cache, never in a project, which may be somebody else's.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import bbops
from bbops.base.diagnostics import Diagnostic, Place, Severity
from bbops.base.disk import replace_file
from bbops.base.render import as_json
from bbops.source.tree import Entry

KEPT = 50
"""Results; the oldest make room."""

_MAX_BYTES = 4 << 20


class Checked(NamedTuple):
    """What a check gave; `size` counts the resources, of a project without errors only."""

    size: int | None
    diagnostics: tuple[Diagnostic, ...]


def recall(name: str) -> Checked | None:
    """Return what is kept under a name, None when there is nothing to be read."""
    try:
        with (_folder() / name).open("rb") as file:
            kept = json.loads(file.read(_MAX_BYTES))
        return Checked(kept["size"], tuple(map(_diagnostic, kept["diagnostics"])))
    except (OSError, RuntimeError, ValueError, LookupError, TypeError):
        return None


def keep(name: str, checked: Checked) -> None:
    """Keep a result under a name; where nothing can be written, nothing is."""
    text = json.dumps({**checked._asdict(), "diagnostics": [*map(as_json, checked.diagnostics)]})
    if len(text) > _MAX_BYTES:
        return
    with suppress(OSError, RuntimeError):
        folder = _folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(folder / name, text.encode())
        _make_room(folder)


def name_of(entries: Sequence[Entry]) -> str:
    """Return the name of what checking these files with this code gives; O(files)."""
    digest = hashlib.sha256(repr((bbops.__version__, sys.version)).encode())
    for stamp in _code():
        digest.update(stamp.encode(errors="surrogateescape"))
    for entry in entries:
        digest.update(repr((entry.path, entry.blob, entry.size_bytes, entry.kind)).encode())
    return digest.hexdigest()


def _code() -> Iterator[str]:
    """Yield what changes when our code does, or when a package is installed."""
    for path in sys.path:
        with suppress(OSError):
            yield f"{path} {Path(path).stat().st_mtime_ns}\n"
    for folder, _, files in os.walk(Path(bbops.__file__).parent):
        for file in files:
            if file.endswith(".py"):
                status = Path(folder, file).stat()
                yield f"{folder}/{file} {status.st_mtime_ns} {status.st_size}\n"


def _diagnostic(kept: dict[str, str]) -> Diagnostic:
    place = Place(kept["file"], int(kept["line"]), int(kept["column"]))
    severity: Severity = "error" if kept["severity"] == "error" else "warning"
    return Diagnostic(place, kept["code"], kept["message"], kept["hint"], severity)


def _make_room(folder: Path) -> None:
    kept = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    for path in kept[:-KEPT]:
        path.unlink()


def _folder() -> Path:
    """Return the user's folder for what can be made again. Raises RuntimeError: there is none."""
    base = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "bbops" / "checks"
