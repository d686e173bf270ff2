"""The versions of a repository that were live in one project. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from bbops.interfaces.answers import Publication
from bbops.source.git.series import Series, Version, read_owner


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
    recorded = {(each.version, each.revision) for each in known if each.version}
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
