"""Prepare the way back to a version, as a pull request."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from bbops.interfaces.mcp.models import ShortRef
from bbops.interfaces.mcp.project.preview_changes import Migration
from bbops.interfaces.mcp.project_backend import ProjectBackend, ProposalEdit
from bbops.interfaces.mcp.tool import Call, Gives, Hints, Takes, Tool
from bbops.interfaces.mcp.work import Work


class Back(Takes, frozen=True):
    """Where to, and what of it; without `refs` all of the project."""

    to: Annotated[
        str, Meta(min_length=1, max_length=100, description="v7, snapshot/NAME or a commit")
    ]
    reason: Annotated[str, Meta(min_length=1, max_length=500)]
    refs: Annotated[list[ShortRef], Meta(max_length=50)] = []


class Restored(msgspec.Struct, frozen=True):
    """A commit on top of the live branch that no branch holds."""

    commit: str
    version: str
    summary: str
    migration: tuple[Migration, ...] = ()
    unrecoverable: tuple[str, ...] = ()


class Prepared(Gives, frozen=True, kw_only=True):
    """The pull request.

    `unrecoverable` is what loses the place of its values: they are hidden, and deleted for good by
    'bbops db narrow'.
    """

    number: int
    url: str
    head: str
    summary: str
    obstacles: list[str]
    migration: list[Migration]
    unrecoverable: list[str]


RESTORE = Work("recovery_rollback", Back, Restored, writes=True, leaves_something=True)


async def run(place: ProjectBackend, taken: Back) -> Prepared:
    """Make the commit and propose it."""
    made = await place.work(RESTORE, taken)
    what = f"{', '.join(taken.refs)} " if taken.refs else ""
    topic = " ".join(("rollback", made.version, *taken.refs))[:200]
    title = f"Roll {what}back to {made.version}"[:200]
    opened = await place.restore(made.commit, topic, ProposalEdit(title, taken.reason))
    return Prepared(
        number=opened.number, url=opened.url, head=opened.head, summary=made.summary,
        obstacles=list(opened.obstacles), migration=list(made.migration),
        unrecoverable=list(made.unrecoverable),
        next=[Call("review_pull_request", {"number": opened.number}, "see its status")],
    )  # fmt: skip


TOOL = Tool(
    "recovery_rollback", "Prepare a rollback",
    "Opens a pull request that returns the project, or the given resources, to an earlier version."
    " Says which data would be affected.",
    Back, Prepared, run, scope="builder", hints=Hints(reaches_out=True),
)  # fmt: skip
