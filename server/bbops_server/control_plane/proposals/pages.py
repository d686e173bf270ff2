"""The pages of proposals: what is asked for, what it would do, and what was said of it."""

from __future__ import annotations

from typing import Any, Final

from litestar import Response
from litestar.exceptions import ClientException
from litestar.params import FromPath, FromQuery

from bbops.base.render import render
from bbops.interfaces.answers import OtherProject, ProposalDetail
from bbops.source.git.proposals import VERDICTS, Verdict
from bbops_server.accounts.errors import AccountError
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.proposals.api import describe
from bbops_server.control_plane.proposals.replaying import ask_again
from bbops_server.control_plane.proposals.review import Reviewing
from bbops_server.control_plane.web.routes import Tab, form, page
from bbops_server.control_plane.web.visit import Here, Visit

_SAID: Final = {
    "approved": "You approved it.", "refused": "You have requested changes.",
    "commented": "Your comment was added.", "closed": "It is closed.",
    "replayed": "The requests were replayed.", "marked": "Saved.",
}  # fmt: skip


@page("/projects/{name:str}/proposals", Permission.READ_PROJECT)
async def show_proposals(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Show the proposals of a project, open ones first."""
    found = await Reviewing(visit, name).every(None)
    return visit.page(
        "proposals", project=name, open=[one for one in found if one.state == "open"],
        ended=[one for one in found if one.state != "open"],
    )  # fmt: skip


@page("/projects/{name:str}/proposals/{number:int}", Permission.READ_PROJECT)
async def show_proposal(
    visit: Here, name: FromPath[str], number: FromPath[int], done: FromQuery[str] = ""
) -> Response[Any]:
    """Show a proposal."""
    return await _show(visit, name, number, said=_SAID.get(done, ""))


@form("/projects/{name:str}/proposals/{number:int}/review", Permission.REVIEW)
async def review_by_page(visit: Here, name: FromPath[str], number: FromPath[int]) -> Response[Any]:
    """Approve a proposal, ask for changes, or comment on it."""
    verdict = await visit.field("verdict")
    chosen: Verdict = next((one for one in VERDICTS if one == verdict), "commented")
    text, plan = await visit.field("text"), await visit.field("plan")
    try:
        await Reviewing(visit, name).say(
            number, chosen, text, "" if chosen == "commented" else plan
        )
    except ClientException as error:
        return await _show(visit, name, number, 409, error=AccountError(error.detail))
    return visit.go(f"/projects/{name}/proposals/{number}?done={chosen}")


@form("/projects/{name:str}/proposals/{number:int}/mark", Permission.PROPOSE)
async def mark_by_page(visit: Here, name: FromPath[str], number: FromPath[int]) -> Response[Any]:
    """Say whether it is ready, or who is asked for a review."""
    said = await visit.field("ready")
    asked = None if said else (await visit.field("reviewers")).replace(",", " ").split()
    try:
        await Reviewing(visit, name).mark(
            number, ready=said == "yes" if said else None, reviewers=asked
        )
    except ClientException as error:
        return await _show(visit, name, number, 409, error=AccountError(error.detail))
    return visit.go(f"/projects/{name}/proposals/{number}?done=marked")


@form("/projects/{name:str}/proposals/{number:int}/merge", Permission.MERGE)
async def merge_by_page(visit: Here, name: FromPath[str], number: FromPath[int]) -> Response[Any]:
    """Merge a proposal as it was shown."""
    try:
        _, lines, _ = await Reviewing(visit, name).merge(number, await visit.field("head"))
    except ClientException as error:
        return await _show(visit, name, number, 409, error=AccountError(error.detail))
    return await _show(visit, name, number, lines=lines)


@form("/projects/{name:str}/proposals/{number:int}/replay", Permission.REPLAY)
async def replay_by_page(visit: Here, name: FromPath[str], number: FromPath[int]) -> Response[Any]:
    """Ask its draft what was asked of the live API."""
    try:
        await ask_again(visit, name, number)
    except ClientException as error:
        return await _show(visit, name, number, 409, error=AccountError(error.detail))
    return visit.go(f"/projects/{name}/proposals/{number}?done=replayed")


@form("/projects/{name:str}/proposals/{number:int}/close", Permission.REVIEW)
async def close_by_page(visit: Here, name: FromPath[str], number: FromPath[int]) -> Response[Any]:
    """Close a proposal."""
    try:
        await Reviewing(visit, name).close(number)
    except ClientException as error:
        return await _show(visit, name, number, 409, error=AccountError(error.detail))
    return visit.go(f"/projects/{name}/proposals/{number}?done=closed")


async def _show(
    visit: Visit, name: str, number: int, status: int = 200, **more: Any
) -> Response[Any]:
    reviewing = Reviewing(visit, name)
    found, merge_status = await reviewing.look(number)
    detail = await describe(visit, reviewing, found, merge_status)
    parts = [{"of": one, **_render(one, one.folder)} for one in detail.others]
    return visit.page(
        "proposal", status, project=name, one=found, detail=detail, parts=parts,
        **{"said": "", "lines": []} | _render(detail) | more,
    )  # fmt: skip


def _render(detail: ProposalDetail | OtherProject, folder: str = "") -> dict[str, str]:
    """Return what is wrong with a project and in its tests, as `bbops validate` prints it."""
    tested = detail.tests.diagnostics if detail.tests else ()
    found = {"wrong": detail.diagnostics, "failing": tested}
    return {
        name: render([one.diagnostic() for one in every], "text", folder=folder)
        for name, every in found.items()
    }


TAB = Tab(30, "Proposals", "/proposals")
ROUTES = (
    show_proposals, show_proposal, mark_by_page, review_by_page, merge_by_page, replay_by_page,
    close_by_page,
)  # fmt: skip
