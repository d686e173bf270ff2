"""Say how far a commit is on its way to live traffic."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import Call, Gives, Takes, Tool
from bbops.interfaces.mcp.words import Found


class Asking(Takes, frozen=True):
    """Of which commit."""

    commit: Annotated[
        str, Meta(pattern="^([0-9a-f]{7,64})?$", description="omit for the newest")
    ] = ""


class Progress(Gives, frozen=True, kw_only=True):
    """How far it is; `live` is the commit that answers."""

    commit: str
    state: str
    stage: str
    live: str
    version: str
    message: str
    diagnostics: list[Found]


async def run(place: ProjectBackend, taken: Asking) -> Progress:
    """Look, and say how to go on."""
    done = await place.attempt(taken.commit)
    again = {"queued", "publishing"}
    arguments = {"commit": taken.commit} if taken.commit else {}
    calls = [Call("publish_status", arguments, "look again")] if done.state in again else []
    if done.state == "live":
        calls = [Call("review_activity", {"what": "errors"}, "see whether it works")]
    return Progress(
        commit=done.commit, state=done.state, stage=done.stage, live=done.live,
        version=done.version, message=done.message, diagnostics=list(done.diagnostics), next=calls,
    )  # fmt: skip


TOOL = Tool(
    "publish_status", "Publish progress",
    "Where a commit is on its way to live traffic, and why it stopped.",
    Asking, Progress, run,
)  # fmt: skip
