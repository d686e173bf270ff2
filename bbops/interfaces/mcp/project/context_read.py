"""Read whole resources, with the digests that guard a change of them."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from bbops.interfaces.mcp.models import Draft, Ref
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import Call, Gives, Takes, Tool
from bbops.interfaces.mcp.work import Work


class Reading(Takes, frozen=True):
    """What is wanted."""

    refs: Annotated[list[Ref], Meta(min_length=1, max_length=20)]
    draft: Draft = ""


class Body(msgspec.Struct, frozen=True):
    """A resource; `problem` says why there is no body."""

    ref: str
    digest: str
    file: str
    body: dict[str, Any] | None = None
    problem: str = ""


class Read(Gives, frozen=True, kw_only=True):
    """What was read; `left` did not fit, `missing` is not there, each with a hint."""

    commit: str
    resources: list[Body]
    left: list[str] = []
    missing: dict[str, str] = {}


READ = Work("context_read", Reading, Read)


async def run(place: ProjectBackend, taken: Reading) -> Read:
    """Read, and say how to go on."""
    done = await place.work(READ, taken)
    more = {"draft": taken.draft} if taken.draft else {}
    calls = []
    if done.left:
        calls.append(Call("context_read", {"refs": done.left, **more}, "read the rest"))
    if done.missing:
        calls.append(Call("context_list", more, "list the resources"))
    return replace(done, next=calls)


TOOL = Tool(
    "context_read", "Read resources",
    "Reads whole resources, with the digest to pass as base when changing them.",
    Reading, Read, run,
)  # fmt: skip
