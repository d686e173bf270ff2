"""Commit to a draft exactly what was previewed."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from bbops.interfaces.mcp.models import OwnDraft
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import WRITES, Call, Gives, Takes, Tool
from bbops.interfaces.mcp.work import Work


class Applying(Takes, frozen=True):
    """What is committed, and where."""

    draft: Annotated[OwnDraft, Meta(description="Branch; created if new, never the live one")]
    plan: Annotated[str, Meta(min_length=1, max_length=300, description="of preview_changes")]
    message: Annotated[str, Meta(min_length=1, max_length=500)]


class Applied(Gives, frozen=True, kw_only=True):
    """The commit; `was_there` where the same plan was applied before."""

    draft: str
    commit: str
    files: list[str]
    was_there: bool = False


APPLY = Work("apply_changes", Applying, Applied, writes=True, noted="commit to draft")


async def run(place: ProjectBackend, taken: Applying) -> Applied:
    """Commit, and say how to go on."""
    done = await place.work(APPLY, taken)
    return replace(done, next=[
        Call("validate_draft", {"draft": done.draft, "level": "test"}, "run its tests"),
        Call("apply_pull_request",
             {"draft": done.draft, "title": taken.message[:200], "body": ""}, "ask for review"),
    ])  # fmt: skip


TOOL = Tool(
    "apply_changes", "Commit to a draft",
    "Commits a previewed plan to a draft branch. The same plan twice gives the same commit. Live"
    " traffic stays as it is.",
    Applying, Applied, run, scope="builder", hints=WRITES,
)  # fmt: skip
