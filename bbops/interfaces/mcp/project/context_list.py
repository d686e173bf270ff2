"""List the resources of a project, a page at a time."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from bbops.interfaces.mcp.models import Cursor, Draft, Kind, Limit, Resource
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import Call, Gives, Takes, Tool
from bbops.interfaces.mcp.work import Work


class Listing(Takes, frozen=True):
    """What is wanted."""

    kind: Kind | UnsetType = UNSET
    query: Annotated[str, Meta(max_length=200, description="Words in name or summary")] = ""
    draft: Draft = ""
    cursor: Cursor = ""
    limit: Limit = 50


class Listed(Gives, frozen=True, kw_only=True):
    """A page; `total` are all that were found."""

    commit: str
    total: int
    resources: list[Resource]
    next_cursor: str = ""


LIST = Work("context_list", Listing, Listed)


async def run(place: ProjectBackend, taken: Listing) -> Listed:
    """List, and say how to read what was found."""
    done = await place.work(LIST, taken)
    refs = [one.ref for one in done.resources[:20]]
    more = {"draft": taken.draft} if taken.draft else {}
    calls = [Call("context_read", {"refs": refs, **more}, "read them")] if refs else []
    return replace(done, next=calls)


TOOL = Tool(
    "context_list", "List resources",
    "Lists resources with digest and one-line summary; context_read has the bodies.",
    Listing, Listed, run,
)  # fmt: skip
