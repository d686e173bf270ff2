"""Merge a pull request if the rules of the project are met; else name the missing approvals."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from bbops.interfaces.mcp.models import Commit, Number
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolHints, ToolParams, ToolResult


class PublishRequestParams(ToolParams, frozen=True):
    """The pull request, and its reviewed commit."""

    number: Number
    head: Annotated[Commit, Meta(description="commit you reviewed; refused if it moved")]


class PublishRequestResult(ToolResult, frozen=True, kw_only=True):
    """The outcome; `lines` is the output of `git push`."""

    state: Literal["merged", "waiting", "refused"]
    waiting_for: list[str] = []
    commit: str = ""
    live: bool = False
    lines: list[str] = []


async def run(backend: ProjectBackend, params: PublishRequestParams) -> PublishRequestResult:
    """Merge the pull request, and suggest the next call."""
    outcome = await backend.publish(params.number, params.head)
    look = NextCall("review_pull_request", {"number": params.number}, "see what blocks it")
    follow = NextCall("publish_status", {"commit": outcome.commit}, "see when it is live")
    return PublishRequestResult(
        state=outcome.state, waiting_for=list(outcome.waiting_for), commit=outcome.commit,
        live=outcome.is_live, lines=list(outcome.lines),
        next=[follow if outcome.state == "merged" else look],
    )  # fmt: skip


TOOL = McpTool(
    "publish_request", "Ask to publish",
    "Merges a pull request where the project lets agents merge (review.agents) and its rules are"
    " met; otherwise says who must approve or merge. Call it only when the user asked to publish.",
    PublishRequestParams, PublishRequestResult, run,
    scope="builder", hints=ToolHints(destroys=True, reaches_out=True),
)  # fmt: skip
