"""Which versions of a repository were live in one project. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from bbops.interfaces.answers import Publication
from bbops.source.git.series import Series, Version, read_owner


def find_own(
    versions: Sequence[Version], series: Series, known: Sequence[Publication]
) -> list[Version]:
    """Return those that were live in a project, in their order.

    What the project itself remembers counts first, also of a name or a branch that it had before.
    A tag that names no project is its own if it is of its branch and folder, and was made before
    the project remembers anything: another one may have followed the same branch.

    Args:
        versions: all of its repository.
        series: which are its own, as tags say it.
        known: what it remembers of its publications.
    """
    remembered = {(one.version, one.revision) for one in known if one.version}
    since = min((one.at for one in known), default=datetime.max.replace(tzinfo=UTC))
    return [one for one in versions if _is_own(one, series, remembered, since)]


def _is_own(
    version: Version, series: Series, remembered: set[tuple[str, str]], since: datetime
) -> bool:
    if (version.name, version.facts.get("Revision", "")) in remembered:
        return True
    is_told = series.holds(version)
    return is_told and (bool(read_owner(version).project) or _read_time(version.at) < since)


def _read_time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return datetime.max.replace(tzinfo=UTC)
