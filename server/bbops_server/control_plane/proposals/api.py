"""The API of proposals: what `bbops proposals` asks."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar.params import Body, FromPath, QueryParameter

from bbops.interfaces.answers import MergeResult, OtherProject, ProposalDetail
from bbops.source.git.proposals import Proposal, State, Verdict
from bbops_server.accounts.reviewers import MOST_ASKED
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.proposals.replaying import read_kept
from bbops_server.control_plane.proposals.review import MOST_TEXT, Reviewing
from bbops_server.control_plane.web.routes import change, read
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.publish.proposals.merge_status import MergeStatus
from bbops_server.publish.proposals.parts import Part

Text = Annotated[str, msgspec.Meta(max_length=MOST_TEXT)]
Reviewers = Annotated[
    list[Annotated[str, msgspec.Meta(max_length=254)]], msgspec.Meta(max_length=MOST_ASKED)
]


class Opening(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A branch whose commit is proposed for the live one."""

    branch: Annotated[str, msgspec.Meta(max_length=200)]
    title: Annotated[str, msgspec.Meta(max_length=200)] = ""
    description: Text = ""
    ready: bool = True
    reviewers: Reviewers = []


class Marks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether it is ready to be merged, and the e-mail addresses of those who are asked.

    What is null stays as it is; `reviewers` are then these and nobody else.
    """

    ready: bool | None = None
    reviewers: Reviewers | None = None


class Opinion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What somebody says; with `plan`, only of what would be done as they looked at it."""

    verdict: Verdict
    text: Text = ""
    plan: str = ""


class Merging(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The commit that was looked at, or its first digits; empty where that does not matter."""

    head: str = ""


@read("/api/projects/{name:str}/proposals", Permission.READ_PROJECT)
async def list_proposals(
    visit: Here,
    name: FromPath[str],
    state_filter: Annotated[State | None, QueryParameter(name="state")] = None,
) -> list[Proposal]:
    """The proposals of a project, newest first."""
    return list(await Reviewing(visit, name).every(state_filter))


@read("/api/projects/{name:str}/proposals/{number:int}", Permission.READ_PROJECT)
async def read_proposal(visit: Here, name: FromPath[str], number: FromPath[int]) -> ProposalDetail:
    """A proposal: what was said of it, what it would do now, and what blocks it."""
    reviewing = Reviewing(visit, name)
    return await describe(visit, reviewing, *await reviewing.look(number))


@change("/api/projects/{name:str}/proposals", Permission.PROPOSE, status=201)
async def open_proposal(
    visit: Here, name: FromPath[str], data: Annotated[Opening, Body()]
) -> Proposal:
    """Propose what a branch of the repository holds."""
    return await Reviewing(visit, name).open(
        data.branch, data.title, data.description, ready=data.ready,
        reviewers=tuple(data.reviewers),
    )  # fmt: skip


@change("/api/projects/{name:str}/proposals/{number:int}/mark", Permission.PROPOSE, status=200)
async def mark_proposal(
    visit: Here, name: FromPath[str], number: FromPath[int], data: Annotated[Marks, Body()]
) -> Proposal:
    """Say whether a proposal is ready to be merged, and who is asked for a review."""
    return await Reviewing(visit, name).mark(number, ready=data.ready, reviewers=data.reviewers)


@change("/api/projects/{name:str}/proposals/{number:int}/review", Permission.REVIEW, status=201)
async def review_proposal(
    visit: Here, name: FromPath[str], number: FromPath[int], data: Annotated[Opinion, Body()]
) -> Proposal:
    """Approve a proposal, ask for changes, or comment on it."""
    return await Reviewing(visit, name).say(number, data.verdict, data.text, data.plan)


@change("/api/projects/{name:str}/proposals/{number:int}/merge", Permission.MERGE, status=200)
async def merge_proposal(
    visit: Here, name: FromPath[str], number: FromPath[int], data: Annotated[Merging, Body()]
) -> MergeResult:
    """Merge a proposal; answers when it is live, or why it is not."""
    return MergeResult(*await Reviewing(visit, name).merge(number, data.head))


@change("/api/projects/{name:str}/proposals/{number:int}/close", Permission.REVIEW, status=200)
async def close_proposal(visit: Here, name: FromPath[str], number: FromPath[int]) -> Proposal:
    """Close a proposal that is not wanted."""
    return await Reviewing(visit, name).close(number)


async def describe(
    visit: Visit, reviewing: Reviewing, proposal: Proposal, status: MergeStatus
) -> ProposalDetail:
    """Return all that is shown of a proposal."""
    is_open, control, name = proposal.state == "open", reviewing.control, reviewing.name
    drafts = visit.control.status.drafts(name)
    preview = drafts.url_of(control.preview_branch(proposal.number)) if is_open and drafts else ""
    return ProposalDetail(
        proposal, control.page(proposal.number), preview, status.summary, status.obstacles,
        status.candidate.conflicts if status.candidate else (), status.demands.digest,
        status.demands.approvals, status.voices.approved,
        tuple(one.who for one in status.voices.outdated),
        list(status.diagnostics),
        dict(status.plan) if status.plan else None, status.text, status.tests,
        await reviewing.compare(status), await read_kept(visit, name, proposal),
        tuple(_describe_part(one) for one in status.others), status.hidden,
    )  # fmt: skip


def _describe_part(one: Part) -> OtherProject:
    plan = dict(one.plan) if one.plan else None
    return OtherProject(one.project, one.folder, plan, one.text, list(one.diagnostics), one.tests)


ROUTES = (
    list_proposals, read_proposal, open_proposal, mark_proposal, review_proposal, merge_proposal,
    close_proposal,
)  # fmt: skip
