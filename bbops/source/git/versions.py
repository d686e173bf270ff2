"""Read and write the versions of projects in a repository."""

from __future__ import annotations

from collections.abc import Mapping

from bbops.source.git.numbered_tags import add_numbered, read_numbered
from bbops.source.git.place import Place
from bbops.source.git.series import Series, Version, read_commit


def read_versions(place: Place) -> tuple[Version, ...]:
    """Return every version of every project, the highest number first; O(tags).

    A tag that was moved to another commit than its message names is none.

    Raises:
        GitError: the repository cannot be read.
    """
    found = read_numbered(place, "**/")
    return tuple(one for one in found if read_commit(one) == one.commit)


def read_series(place: Place, series: Series) -> tuple[Version, ...]:
    """Return the versions of one project. Arguments and errors as of `read_versions`."""
    return tuple(filter(series.holds, read_versions(place)))


def add_version(
    place: Place, commit: str, subject: str, facts: Mapping[str, str], series: Series
) -> str:
    """Tag what went live with the next number; return the tag's name.

    A number is never used twice, whoever has a tag of it.

    Raises:
        GitError: it cannot be written.
    """
    known = read_series(place, series)
    above = known[0].number if known else 0
    return add_numbered(place, series.prefix, above, commit, subject, {**facts, **series.facts})
