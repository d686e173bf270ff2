"""Say how far a commit is on its way to live traffic."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from bbops.interfaces.mcp.models import Found
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import Call, Gives, Takes, Tool


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
        calls = [Call("review_activity", {"what": "errors"}, "see recent errors")]
    return Progress(
        commit=done.commit, state=done.state, stage=done.stage, live=done.live,
        version=done.version, message=done.message, diagnostics=list(done.diagnostics), next=calls,
    )  # fmt: skip


TOOL = Tool(
    "publish_status", "Publish progress",
    "Publishing status of a commit, and the reason if it stopped.",
    Asking, Progress, run,
)  # fmt: skip
