"""The recorded publications of a project, and its versions in a repository."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from bbops.base.disk import replace_file
from bbops.interfaces.answers import Publication
from bbops.source.git.series import Series, Version, read_owner

MAX_KEPT: Final = 10_000
_FILE = "publications.jsonl"
_SPARE = 1_000
"""Lines beyond the limit before the oldest are dropped."""


def add_publication(state: Path, publication: Publication) -> None:
    """Append a publication; a failure to write is ignored."""
    file = state / _FILE
    with suppress(OSError):
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            os.write(handle, msgspec.json.encode(publication) + b"\n")
        finally:
            os.close(handle)
        if file.stat().st_size > (MAX_KEPT + _SPARE) * 200:
            _shorten(file)


def read_publications(state: Path, limit: int) -> list[Publication]:
    """Return the newest publications, newest last; incomplete lines are left out."""
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
    if len(lines) > MAX_KEPT + _SPARE:
        replace_file(file, b"".join(lines[-MAX_KEPT:]))


# ---- versions that were live in a project
def filter_versions(
    versions: Sequence[Version], series: Series, known: Sequence[Publication]
) -> list[Version]:
    """Return the versions that were live in a project, in their order.

    The project's own record has precedence, also for a former name or branch. A tag without a
    project belongs to it if it has its branch and folder, and is older than the record: another
    project may have followed the same branch.

    Args:
        versions: all versions of the repository.
        series: the tags of the project.
        known: its recorded publications.
    """
    recorded = {(entry.version, entry.revision) for entry in known if entry.version}
    since = min((publication.at for publication in known), default=datetime.max.replace(tzinfo=UTC))
    return [version for version in versions if _is_own(version, series, recorded, since)]


def _is_own(
    version: Version, series: Series, recorded: set[tuple[str, str]], since: datetime
) -> bool:
    if (version.name, version.facts.get("Revision", "")) in recorded:
        return True
    is_in_series = series.holds(version)
    return is_in_series and (bool(read_owner(version).project) or _read_time(version.at) < since)


def _read_time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return datetime.max.replace(tzinfo=UTC)
