"""The pages of proposals: the list, and each proposal with its plan and reviews."""

from __future__ import annotations

from typing import Any, Final

from litestar import Response
from litestar.exceptions import ClientException
from litestar.params import FromPath, FromQuery

from bbops.base.render import render
from bbops.interfaces.answers import OtherProject, ProposalDetail
from bbops.source.git.proposals import VERDICTS, Verdict
from bbops_server.accounts.rules import Permission
from bbops_server.accounts.text_rules import AccountError
from bbops_server.control_plane.proposals.api import describe
from bbops_server.control_plane.proposals.pulls import show_pulls
from bbops_server.control_plane.proposals.replays import replay
from bbops_server.control_plane.proposals.review import VisitedProposals
from bbops_server.control_plane.web.frame import Panel
from bbops_server.control_plane.web.routes import form, page
from bbops_server.control_plane.web.visit import Here, Visit

_NOTICES: Final = {
    "approved": "You approved it.", "refused": "You have requested changes.",
    "commented": "Your comment was added.", "closed": "It is closed.",
    "replayed": "The requests were replayed.", "marked": "Saved.",
}  # fmt: skip


@page("/projects/{name:str}/proposals", Permission.READ_PROJECT)
async def show_proposals(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Show the proposals of a project, open ones first, or the pull requests on its forge."""
    if visit.control.status.pulls(name) is not None:
        return show_pulls(visit, name)
    return await _show_list(visit, name)


async def _show_list(
    visit: Visit, name: str, status: int = 200, error: AccountError | None = None
) -> Response[Any]:
    proposals = await VisitedProposals(visit, name).list_all(None)
    return visit.page(
        "proposals", status, project=name, error=error,
        open=[proposal for proposal in proposals if proposal.state == "open"],
        ended=[proposal for proposal in proposals if proposal.state != "open"],
    )  # fmt: skip


@page("/projects/{name:str}/proposals/{number:int}", Permission.READ_PROJECT)
async def show_proposal(
    visit: Here, name: FromPath[str], number: FromPath[int], done: FromQuery[str] = ""
) -> Response[Any]:
    """Show a proposal."""
    return await _show(visit, name, number, notice=_NOTICES.get(done, ""))


@form("/projects/{name:str}/proposals", Permission.PROPOSE)
async def propose_by_page(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Propose the commit of a branch, as `bbops propose`."""
    branch = await visit.field("branch")
    try:
        proposal = await VisitedProposals(visit, name).open(branch, "", "")
    except ClientException as error:
        return await _show_list(visit, name, 409, AccountError(error.detail))
    return visit.go(f"/projects/{name}/proposals/{proposal.number}")


@form("/projects/{name:str}/proposals/{number:int}/review", Permission.REVIEW)
async def review_by_page(visit: Here, name: FromPath[str], number: FromPath[int]) -> Response[Any]:
    """Approve a proposal, request changes, or comment on it."""
    verdict = await visit.field("verdict")
    chosen: Verdict = next((each for each in VERDICTS if each == verdict), "commented")
    text, plan = await visit.field("text"), await visit.field("plan")
    try:
        await VisitedProposals(visit, name).review(
            number, chosen, text, "" if chosen == "commented" else plan
        )
    except ClientException as error:
        return await _show(visit, name, number, 409, error=AccountError(error.detail))
    return visit.go(f"/projects/{name}/proposals/{number}?done={chosen}")


@form("/projects/{name:str}/proposals/{number:int}/mark", Permission.PROPOSE)
async def mark_by_page(visit: Here, name: FromPath[str], number: FromPath[int]) -> Response[Any]:
    """Mark a proposal as ready or not ready, or set its reviewers."""
    ready = await visit.field("ready")
    reviewers = None if ready else (await visit.field("reviewers")).replace(",", " ").split()
    try:
        await VisitedProposals(visit, name).mark(
            number, ready=ready == "yes" if ready else None, reviewers=reviewers
        )
    except ClientException as error:
        return await _show(visit, name, number, 409, error=AccountError(error.detail))
    return visit.go(f"/projects/{name}/proposals/{number}?done=marked")


@form("/projects/{name:str}/proposals/{number:int}/merge", Permission.MERGE)
async def merge_by_page(visit: Here, name: FromPath[str], number: FromPath[int]) -> Response[Any]:
    """Merge the shown commit of a proposal."""
    try:
        _, lines, _ = await VisitedProposals(visit, name).merge(number, await visit.field("head"))
    except ClientException as error:
        return await _show(visit, name, number, 409, error=AccountError(error.detail))
    return await _show(visit, name, number, lines=lines)


@form("/projects/{name:str}/proposals/{number:int}/replay", Permission.REPLAY)
async def replay_by_page(visit: Here, name: FromPath[str], number: FromPath[int]) -> Response[Any]:
    """Replay recorded requests of the live API on the proposal's draft."""
    try:
        await replay(visit, name, number)
    except ClientException as error:
        return await _show(visit, name, number, 409, error=AccountError(error.detail))
    return visit.go(f"/projects/{name}/proposals/{number}?done=replayed")


@form("/projects/{name:str}/proposals/{number:int}/close", Permission.REVIEW)
async def close_by_page(visit: Here, name: FromPath[str], number: FromPath[int]) -> Response[Any]:
    """Close a proposal."""
    try:
        await VisitedProposals(visit, name).close(number)
    except ClientException as error:
        return await _show(visit, name, number, 409, error=AccountError(error.detail))
    return visit.go(f"/projects/{name}/proposals/{number}?done=closed")


async def _show(
    visit: Visit, name: str, number: int, status: int = 200, **more: Any
) -> Response[Any]:
    proposals = VisitedProposals(visit, name)
    proposal, merge_status = await proposals.find(number)
    detail = await describe(visit, proposals, proposal, merge_status)
    parts = [{"of": part, **_render(part, part.folder)} for part in detail.others]
    return visit.page(
        "proposal", status, project=name, proposal=proposal, detail=detail, parts=parts,
        **{"notice": "", "lines": []} | _render(detail) | more,
    )  # fmt: skip


def _render(detail: ProposalDetail | OtherProject, folder: str = "") -> dict[str, str]:
    """Return the diagnostics of a project and of its tests, as `bbops validate` prints them."""
    tested = detail.tests.diagnostics if detail.tests else ()
    groups = {"wrong": detail.diagnostics, "failing": tested}
    return {
        name: render([each.diagnostic() for each in diagnostics], "text", folder=folder)
        for name, diagnostics in groups.items()
    }


PANEL = Panel(
    "Ship", 20, "Proposals", "pull", "/proposals",
    actions=(("Review a proposal", Permission.REVIEW), ("Merge a proposal", Permission.MERGE)),
)  # fmt: skip
ROUTES = (
    show_proposals, show_proposal, propose_by_page, mark_by_page, review_by_page, merge_by_page,
    replay_by_page, close_by_page,
)  # fmt: skip
