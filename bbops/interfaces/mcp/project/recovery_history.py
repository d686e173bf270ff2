"""List what went live, or how one resource came to be as it is."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from bbops.interfaces.mcp.models import Cursor, Limit, ShortRef
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import Call, Gives, Takes, Tool
from bbops.interfaces.mcp.work import Work


class Asking(Takes, frozen=True):
    """Of the project, or of one resource."""

    ref: ShortRef = ""
    cursor: Cursor = ""
    limit: Limit = 20


class Version(msgspec.Struct, frozen=True):
    """A version, a snapshot or a commit; `tag` is empty for a commit that never went live."""

    commit: str
    at: str
    author: str
    summary: str
    tag: str = ""


class Past(Gives, frozen=True, kw_only=True):
    """The newest first; snapshots stand on the first page."""

    versions: list[Version]
    snapshots: list[Version] = []
    next_cursor: str = ""


HISTORY = Work("recovery_history", Asking, Past)


async def run(place: ProjectBackend, taken: Asking) -> Past:
    """Look, and say how to go on."""
    done = await place.work(HISTORY, taken)
    tags = [one.tag for one in done.versions if one.tag]
    if len(tags) < 2:
        return done
    arguments = {"to": tags[1], "reason": "Say why"} | ({"refs": [taken.ref]} if taken.ref else {})
    why = "open a rollback as a pull request"
    return replace(done, next=[Call("recovery_rollback", arguments, why)])


TOOL = Tool(
    "recovery_history", "Version history",
    "Published versions and snapshots, newest first; with ref, the commits of one resource.",
    Asking, Past, run,
)  # fmt: skip
