"""Merge a pull request where the rules of the project are met; else say who must agree."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from bbops.interfaces.mcp.models import Commit, Number
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import Call, Gives, Hints, Takes, Tool


class Publishing(Takes, frozen=True):
    """What is to be merged, as it was looked at."""

    number: Number
    head: Annotated[Commit, Meta(description="commit you reviewed; refused if it moved")]


class Published(Gives, frozen=True, kw_only=True):
    """What became of it; `lines` are what `git push` would print."""

    state: Literal["merged", "waiting", "refused"]
    waiting_for: list[str] = []
    commit: str = ""
    live: bool = False
    lines: list[str] = []


async def run(place: ProjectBackend, taken: Publishing) -> Published:
    """Merge, and say how to go on."""
    done = await place.publish(taken.number, taken.head)
    look = Call("review_pull_request", {"number": taken.number}, "see what blocks it")
    follow = Call("publish_status", {"commit": done.commit}, "see when it is live")
    return Published(
        state=done.state, waiting_for=list(done.waiting_for), commit=done.commit,
        live=done.is_live, lines=list(done.lines),
        next=[follow if done.state == "merged" else look],
    )  # fmt: skip


TOOL = Tool(
    "publish_request", "Ask to publish",
    "Merges a pull request where the project lets agents merge (review.agents) and its rules are"
    " met; otherwise says who must approve or merge. Call it only when the user asked to publish.",
    Publishing, Published, run, scope="builder", hints=Hints(destroys=True, reaches_out=True),
)  # fmt: skip
