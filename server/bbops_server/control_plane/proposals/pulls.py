"""The pull requests of a project whose repository is on a forge."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from litestar import Response
from litestar.exceptions import NotFoundException
from litestar.params import Body, FromPath

from bbops.base.errors import BbopsError
from bbops.interfaces.answers import AllowedPull, ForgeStatus, PullStatus
from bbops_server.accounts.rules import Permission
from bbops_server.accounts.text_rules import AccountError
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import change, form, read
from bbops_server.control_plane.web.visit import Here, Visit

if TYPE_CHECKING:
    from bbops_server.publish.pull_requests.following import PullFollower


class PullHead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A commit, by its full id."""

    head: Annotated[str, msgspec.Meta(min_length=7, max_length=64)]


@read("/api/projects/{name:str}/pulls", Permission.READ_PROJECT)
async def list_pulls(visit: Here, name: FromPath[str]) -> ForgeStatus:
    """Open pull requests of the project's branch, with their checks and previews."""
    return _pulls(visit, name).status()


@change("/api/projects/{name:str}/pulls/{number:int}/allow", Permission.RUN_FORK, status=200)
async def allow_pull(
    visit: Here, name: FromPath[str], number: FromPath[int], data: Annotated[PullHead, Body()]
) -> AllowedPull:
    """Allow the code of a fork's commit to run on this server: its tests, and its preview."""
    try:
        return await _allow(visit, name, number, data.head)
    except BbopsError as error:
        raise refuse(error) from None


@form("/projects/{name:str}/pulls/{number:int}/allow", Permission.RUN_FORK)
async def allow_by_page(visit: Here, name: FromPath[str], number: FromPath[int]) -> Response[Any]:
    """Allow the shown commit of a fork's pull request to run."""
    try:
        await _allow(visit, name, number, await visit.field("head"))
    except BbopsError as error:
        return show_pulls(visit, name, 409, AccountError(error.message, hint=error.hint))
    return visit.go(f"/projects/{name}/proposals")


def list_open_pulls(visit: Visit, name: str) -> Sequence[PullStatus]:
    """Return the open pull requests on the project's forge; none without a forge."""
    pulls = visit.control.status.pulls(name)
    return pulls.status().pulls if pulls is not None else ()


def show_pulls(
    visit: Visit, name: str, status: int = 200, error: AccountError | None = None
) -> Response[Any]:
    """Return the page of the open pull requests, in place of the server's own proposals."""
    listed = _pulls(visit, name).status()
    return visit.page("pulls", status, project=name, forge=listed, error=error)


async def _allow(visit: Visit, name: str, number: int, head: str) -> AllowedPull:
    pulls = _pulls(visit, name)
    commit = await asyncio.to_thread(pulls.allow, number, head, visit.caller.email)
    await visit.note("allow fork", object=f"{name} #{number} {commit}")
    pulls.update()
    return AllowedPull(number, commit)


def _pulls(visit: Visit, name: str) -> PullFollower:
    pulls = visit.control.status.pulls(name)
    if pulls is None:
        raise NotFoundException(
            f"project '{name}' has no forge: 'forge' of the project in server.yaml names it"
        )
    return pulls


ROUTES = (list_pulls, allow_pull, allow_by_page)
