"""Read what a project promises to those who call it."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta
from msgspec.structs import replace

from bbops.interfaces.mcp.models import Cursor, Draft
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import Call, Gives, Takes, Tool
from bbops.interfaces.mcp.work import Work


class Wanted(Takes, frozen=True):
    """What is wanted."""

    format: Literal["openapi", "markdown", "json", "typescript", "python"] = "markdown"
    draft: Draft = ""
    path: Annotated[str, Meta(max_length=500, description="only this route: /notes/{id}")] = ""
    cursor: Cursor = ""


class Contract(Gives, frozen=True, kw_only=True):
    """A part of the text; all parts of one `digest` are one contract."""

    commit: str
    digest: str
    content_type: str
    routes: list[str]
    text: str
    next_cursor: str = ""


CONTRACT = Work("review_contract", Wanted, Contract)


async def run(place: ProjectBackend, taken: Wanted) -> Contract:
    """Read, and say how to go on."""
    done = await place.work(CONTRACT, taken)
    if not done.next_cursor:
        return done
    again = {"format": taken.format, "cursor": done.next_cursor}
    again |= {"draft": taken.draft} if taken.draft else {}
    again |= {"path": taken.path} if taken.path else {}
    return replace(done, next=[Call("review_contract", again, "read on")])


TOOL = Tool(
    "review_contract", "API contract",
    "OpenAPI, Markdown, JSON or SDK contract. Large: ask for one path.",
    Wanted, Contract, run,
)  # fmt: skip
