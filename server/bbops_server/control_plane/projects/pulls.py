"""The pull requests of a project whose repository is on a forge."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
from litestar.exceptions import NotFoundException
from litestar.params import Body, FromPath

from bbops.base.errors import BbopsError
from bbops.interfaces.answers import AllowedPull, ForgeStatus
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import change, read
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.publish.projects.protocols import PullSource


class PullHead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A commit, by at least seven digits."""

    head: Annotated[str, msgspec.Meta(min_length=7, max_length=64)]


@read("/api/projects/{name:str}/pulls", Permission.READ_DRAFTS)
async def list_pulls(visit: Here, name: FromPath[str]) -> ForgeStatus:
    """Open pull requests of the project's branch, with their checks and previews."""
    return _pulls(visit, name).status()


@change("/api/projects/{name:str}/pulls/{number:int}/allow", Permission.RUN_FORK, status=200)
async def allow_pull(
    visit: Here, name: FromPath[str], number: FromPath[int], data: Annotated[PullHead, Body()]
) -> AllowedPull:
    """Allow the code of a fork's commit to run on this server: its tests, and its preview."""
    pulls = _pulls(visit, name)
    try:
        head = await asyncio.to_thread(pulls.allow, number, data.head, visit.caller.email)
    except BbopsError as error:
        raise refuse(error) from None
    await visit.note("allow fork", object=f"{name} #{number} {head[:12]}")
    pulls.update()
    return AllowedPull(number, head)


def _pulls(visit: Visit, name: str) -> PullSource:
    pulls = visit.control.status.pulls(name)
    if pulls is None:
        raise NotFoundException(
            f"project '{name}' has no forge: 'forge' of the project in server.yaml names it"
        )
    return pulls


ROUTES = (list_pulls, allow_pull)
