"""Give what is live a name to come back to."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import WRITES, Call, Gives, Takes, Tool
from bbops.interfaces.mcp.work import Work


class Naming(Takes, frozen=True):
    """The name."""

    name: Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9-]*$", max_length=60)]
    message: Annotated[str, Meta(max_length=500)] = ""


class Named(Gives, frozen=True, kw_only=True):
    """The tag, and what it names."""

    tag: str
    commit: str


SNAPSHOT = Work("recovery_snapshot", Naming, Named, writes=True, noted="save snapshot")


async def run(place: ProjectBackend, taken: Naming) -> Named:
    """Name it, and say how to come back."""
    done = await place.work(SNAPSHOT, taken)
    arguments = {"to": done.tag, "reason": "Say why"}
    return replace(done, next=[Call("recovery_rollback", arguments, "roll back to it later")])


TOOL = Tool(
    "recovery_snapshot", "Save a snapshot",
    "Tags the live commit, so that you can roll back to it by name. Does not copy rows.",
    Naming, Named, run, scope="builder", hints=WRITES,
)  # fmt: skip
