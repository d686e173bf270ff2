"""Let a draft be again what is live, or delete it; what it held stays to be brought back."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from bbops.interfaces.mcp.models import OwnDraft, ShortRef
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import Call, Gives, Hints, Takes, Tool
from bbops.interfaces.mcp.work import Work


class Resetting(Takes, frozen=True):
    """Which draft, and what of it."""

    draft: OwnDraft
    refs: Annotated[list[ShortRef], Meta(max_length=50)] = []
    delete: bool = False
    to: Annotated[
        str,
        Meta(pattern="^([0-9a-f]{40,64})?$", description="a previousHead, to restore that state"),
    ] = ""


class Reset(Gives, frozen=True, kw_only=True):
    """What the draft holds now, empty when it is gone, and what it held."""

    draft: str
    head: str
    previous_head: str


RESET = Work("recovery_reset_draft", Resetting, Reset, writes=True, noted="reset draft")


async def run(place: ProjectBackend, taken: Resetting) -> Reset:
    """Reset, and say how to undo it."""
    done = await place.work(RESET, taken)
    if not done.previous_head or done.previous_head == done.head:
        return done
    undo = {"draft": done.draft, "to": done.previous_head}
    return replace(done, next=[Call("recovery_reset_draft", undo, "undo this")])


TOOL = Tool(
    "recovery_reset_draft", "Reset a draft",
    "Returns a draft, or resources in it, to the live branch; or deletes it. Returns the"
    " old head, which can be restored.",
    Resetting, Reset, run, scope="builder", hints=Hints(destroys=True),
)  # fmt: skip
