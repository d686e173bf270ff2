"""Where a project or a draft answers: what the parent tells its data processes of each."""

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


class DraftPlace(NamedTuple):
    """Where a draft answers, and who may ask it.

    Attributes:
        branch: as git has it.
        hosts: those of its project; any when that names none.
        prefix: of its paths, the project's own included.
        own_host: the host that is its alone; empty where drafts have none.
        url: where it is reached, without a slash at the end.
        key: of its tokens, in hex.
        tells: where people open it.
        is_secure: whether browsers reach it by https.
        tell_seconds: its use is told to the parent, which lets it live on, once in so long.
    """

    branch: str
    hosts: tuple[str, ...]
    prefix: str
    key: str
    tells: str
    is_secure: bool = False
    tell_seconds: float = 20.0
    own_host: str = ""
    url: str = ""
