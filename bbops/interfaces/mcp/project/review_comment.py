"""Say something of a pull request."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from bbops.interfaces.mcp.models import Number
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import Gives, Hints, Takes, Tool


class Comment(Takes, frozen=True):
    """What is said, and of which line."""

    number: Number
    body: Annotated[str, Meta(min_length=1, max_length=8_000)]
    file: Annotated[str, Meta(max_length=300)] = ""
    line: Annotated[int, Meta(ge=0, le=10_000_000)] = 0


class Said(Gives, frozen=True, kw_only=True):
    """Where it stands."""

    number: int
    url: str


async def run(place: ProjectBackend, taken: Comment) -> Said:
    """Say it; the place stands before it."""
    where = f"{taken.file}:{taken.line}" if taken.line else taken.file
    text = f"{where}: {taken.body}" if where else taken.body
    return Said(number=taken.number, url=await place.comment(taken.number, text))


TOOL = Tool(
    "review_comment", "Comment on a pull request",
    "Adds a comment, optionally on a line of a file. Does not approve.",
    Comment, Said, run, scope="builder", hints=Hints(is_idempotent=False, reaches_out=True),
)  # fmt: skip
