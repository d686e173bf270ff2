"""The API of proposals, for `bbops proposals`."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar.params import Body, FromPath, QueryParameter

from bbops.interfaces.answers import MergeResult, OtherProject, ProposalDetail
from bbops.source.git.proposals import Proposal, State, Verdict
from bbops_server.accounts.reviewers import MOST_ASKED
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.proposals.replays import find_replay
from bbops_server.control_plane.proposals.review import MAX_TEXT, VisitedProposals
from bbops_server.control_plane.web.routes import change, read
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.publish.impact.impact import ProjectImpact
from bbops_server.publish.proposals.merge_status import MergeStatus

Text = Annotated[str, msgspec.Meta(max_length=MAX_TEXT)]
Reviewers = Annotated[
    list[Annotated[str, msgspec.Meta(max_length=254)]], msgspec.Meta(max_length=MOST_ASKED)
]


class ProposalRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A branch whose commit is proposed for the live branch."""

    branch: Annotated[str, msgspec.Meta(max_length=200)]
    title: Annotated[str, msgspec.Meta(max_length=200)] = ""
    description: Text = ""
    ready: bool = True
    reviewers: Reviewers = []


class ProposalMarks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether it is ready to be merged, and the e-mail addresses of all requested reviewers.

    A value of null stays unchanged; `reviewers` replaces the whole list.
    """

    ready: bool | None = None
    reviewers: Reviewers | None = None


class ReviewRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A review; `plan` is the digest of the reviewed plan, and another plan is rejected."""

    verdict: Verdict
    text: Text = ""
    plan: str = ""


class MergeRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The full id of the reviewed commit; empty for the newest commit."""

    head: str = ""


@read("/api/projects/{name:str}/proposals", Permission.READ_PROJECT)
async def list_proposals(
    visit: Here,
    name: FromPath[str],
    state_filter: Annotated[State | None, QueryParameter(name="state")] = None,
) -> list[Proposal]:
    """The proposals of a project, newest first."""
    return list(await VisitedProposals(visit, name).list_all(state_filter))


@read("/api/projects/{name:str}/proposals/{number:int}", Permission.READ_PROJECT)
async def read_proposal(visit: Here, name: FromPath[str], number: FromPath[int]) -> ProposalDetail:
    """A proposal with its reviews, its plan, and the requirements that block a merge."""
    proposals = VisitedProposals(visit, name)
    return await describe(visit, proposals, *await proposals.find(number))


@change("/api/projects/{name:str}/proposals", Permission.PROPOSE, status=201)
async def open_proposal(
    visit: Here, name: FromPath[str], data: Annotated[ProposalRequest, Body()]
) -> Proposal:
    """Propose the commit of a branch."""
    return await VisitedProposals(visit, name).open(
        data.branch, data.title, data.description, ready=data.ready,
        reviewers=tuple(data.reviewers),
    )  # fmt: skip


@change("/api/projects/{name:str}/proposals/{number:int}/mark", Permission.PROPOSE, status=200)
async def mark_proposal(
    visit: Here, name: FromPath[str], number: FromPath[int], data: Annotated[ProposalMarks, Body()]
) -> Proposal:
    """Mark a proposal as ready or not ready, or set its reviewers."""
    return await VisitedProposals(visit, name).mark(
        number, ready=data.ready, reviewers=data.reviewers
    )


@change("/api/projects/{name:str}/proposals/{number:int}/review", Permission.REVIEW, status=201)
async def review_proposal(
    visit: Here, name: FromPath[str], number: FromPath[int], data: Annotated[ReviewRequest, Body()]
) -> Proposal:
    """Approve a proposal, request changes, or comment on it."""
    return await VisitedProposals(visit, name).review(number, data.verdict, data.text, data.plan)


@change("/api/projects/{name:str}/proposals/{number:int}/merge", Permission.MERGE, status=200)
async def merge_proposal(
    visit: Here, name: FromPath[str], number: FromPath[int], data: Annotated[MergeRequest, Body()]
) -> MergeResult:
    """Merge a proposal; responds when it is live or has stalled."""
    return MergeResult(*await VisitedProposals(visit, name).merge(number, data.head))


@change("/api/projects/{name:str}/proposals/{number:int}/close", Permission.REVIEW, status=200)
async def close_proposal(visit: Here, name: FromPath[str], number: FromPath[int]) -> Proposal:
    """Close a proposal without a merge."""
    return await VisitedProposals(visit, name).close(number)


async def describe(
    visit: Visit, proposals: VisitedProposals, proposal: Proposal, status: MergeStatus
) -> ProposalDetail:
    """Return a proposal with its merge status, tests, differences and recorded replay."""
    is_open, control, name = proposal.state == "open", proposals.control, proposals.name
    drafts = visit.control.status.drafts(name)
    preview = drafts.url_of(control.preview_branch(proposal.number)) if is_open and drafts else ""
    return ProposalDetail(
        proposal, control.page(proposal.number), preview, status.summary, status.obstacles,
        status.candidate.conflicts if status.candidate else (), status.demands.digest,
        status.demands.approvals, status.voices.approved,
        tuple(review.who for review in status.voices.outdated),
        list(status.diagnostics),
        dict(status.plan) if status.plan else None, status.text, status.tests,
        await proposals.compare(status), await find_replay(visit, name, proposal),
        tuple(map(_describe_part, status.others)), status.hidden,
        status.warnings if is_open else (),
        await proposals.explain_approval(proposal, status),
    )  # fmt: skip


def _describe_part(part: ProjectImpact) -> OtherProject:
    plan = dict(part.plan) if part.plan else None
    return OtherProject(
        part.project, part.folder, plan, part.text, list(part.diagnostics), part.tests
    )


ROUTES = (
    list_proposals, read_proposal, open_proposal, mark_proposal, review_proposal, merge_proposal,
    close_proposal,
)  # fmt: skip
