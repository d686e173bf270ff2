"""Which frontends were live, and until when: open pages may still ask for their files."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from bbops.base.disk import replace_file
from bbops_server.data_plane.pages.frontend import folder_of

MOST: Final = 10
_FILE: Final = "recent.json"


class Recent(msgspec.Struct, frozen=True):
    """A frontend by the name of its manifest; `until` is None while it is live."""

    name: str
    until: datetime | None = None


def read_recent(state: Path) -> list[Recent]:
    """Return the recent frontends of a project, newest last; empty if the file is damaged."""
    try:
        return msgspec.json.decode((folder_of(state) / _FILE).read_bytes(), type=list[Recent])
    except (OSError, msgspec.MsgspecError):
        return []


def note_live(state: Path, name: str, now: datetime) -> None:
    """Remember which frontend is live from now on. Raises: OSError: it cannot be written."""
    kept = read_recent(state)
    if not name or (kept and kept[-1].name == name):
        return
    ended = [one if one.until else Recent(one.name, now) for one in kept if one.name != name]
    data = msgspec.json.encode([*ended[-MOST:], Recent(name)])
    replace_file(folder_of(state) / _FILE, data)
