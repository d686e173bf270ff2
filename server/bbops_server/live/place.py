"""Where a project answers: what the parent tells its data processes of each."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """Where a project answers: under any host when it names none, at `/` with an empty prefix.

    `was_live` says that a release of it was live before, so one is to be waited for.
    """

    hosts: tuple[str, ...] = ()
    prefix: str = ""
    was_live: bool = False


EVERYWHERE = Place()
