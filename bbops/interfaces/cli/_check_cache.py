"""The results of `bbops validate`, cached until a file of the project changes.

A result depends on the files and on the code that checks them, so its key is a hash of both. The
cache is in the user's own cache folder, never in a project, which may belong to another user.
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

MAX_RESULTS = 50
"""Results that are kept; the oldest are deleted."""

_MAX_BYTES = 4 << 20


class CheckResult(NamedTuple):
    """The diagnostics of a project; `size` is its number of resources, None if it has errors."""

    size: int | None
    diagnostics: tuple[Diagnostic, ...]


def load_result(key: str) -> CheckResult | None:
    """Return the cached result with a key; None without one."""
    try:
        with (_folder() / key).open("rb") as file:
            cached = json.loads(file.read(_MAX_BYTES))
        return CheckResult(cached["size"], tuple(map(_diagnostic, cached["diagnostics"])))
    except (OSError, RuntimeError, ValueError, LookupError, TypeError):
        return None


def store_result(key: str, result: CheckResult) -> None:
    """Store a result under a key; do nothing if the cache cannot be written."""
    text = json.dumps({**result._asdict(), "diagnostics": [*map(as_json, result.diagnostics)]})
    if len(text) > _MAX_BYTES:
        return
    with suppress(OSError, RuntimeError):
        folder = _folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(folder / key, text.encode())
        _delete_oldest(folder)


def cache_key(entries: Sequence[Entry]) -> str:
    """Return the key for the result of checking these files with this code; O(files)."""
    digest = hashlib.sha256(repr((bbops.__version__, sys.version)).encode())
    for stamp in _code_stamps():
        digest.update(stamp.encode(errors="surrogateescape"))
    for entry in entries:
        digest.update(repr((entry.path, entry.blob, entry.size_bytes, entry.kind)).encode())
    return digest.hexdigest()


def _code_stamps() -> Iterator[str]:
    """Yield texts that change with the code of bbops, or when a package is installed."""
    for path in sys.path:
        with suppress(OSError):
            yield f"{path} {Path(path).stat().st_mtime_ns}\n"
    for folder, _, files in os.walk(Path(bbops.__file__).parent):
        for file in files:
            if file.endswith(".py"):
                status = Path(folder, file).stat()
                yield f"{folder}/{file} {status.st_mtime_ns} {status.st_size}\n"


def _diagnostic(cached: dict[str, str]) -> Diagnostic:
    place = Place(cached["file"], int(cached["line"]), int(cached["column"]))
    severity: Severity = "error" if cached["severity"] == "error" else "warning"
    return Diagnostic(place, cached["code"], cached["message"], cached["hint"], severity)


def _delete_oldest(folder: Path) -> None:
    files = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    for path in files[:-MAX_RESULTS]:
        path.unlink()


def _folder() -> Path:
    """Return the user's cache folder. Raises RuntimeError: there is no home folder."""
    base = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "bbops" / "checks"
