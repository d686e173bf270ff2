"""Every publication of a project, kept beside its data: who, when, what, and how it ended."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from bbops.base.disk import replace_file
from bbops.interfaces.answers import Publication

MOST_KEPT: Final = 10_000
_FILE = "publications.jsonl"
_SPARE = 1_000
"""Lines over the most before the oldest are dropped."""


def add_publication(state: Path, publication: Publication) -> None:
    """Append one; a disk that takes nothing costs its memory alone."""
    file = state / _FILE
    with suppress(OSError):
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            os.write(handle, msgspec.json.encode(publication) + b"\n")
        finally:
            os.close(handle)
        if file.stat().st_size > (MOST_KEPT + _SPARE) * 200:
            _shorten(file)


def read_publications(state: Path, limit: int) -> list[Publication]:
    """Return the newest, the newest last; lines that a crash has cut are left out."""
    with suppress(OSError):
        lines = (state / _FILE).read_bytes().splitlines()[-limit:]
        return list(filter(None, map(_read, lines)))
    return []


def _read(line: bytes) -> Publication | None:
    with suppress(msgspec.MsgspecError):
        return msgspec.json.decode(line, type=Publication)
    return None


def _shorten(file: Path) -> None:
    lines: Sequence[bytes] = file.read_bytes().splitlines(keepends=True)
    if len(lines) > MOST_KEPT + _SPARE:
        replace_file(file, b"".join(lines[-MOST_KEPT:]))
