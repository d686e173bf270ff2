"""The API about projects: what `bbops status`, `requests` and `accept` ask."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from litestar.exceptions import NotFoundException
from litestar.params import Body, FromPath, QueryParameter

from bbops.base.errors import ServerError
from bbops.interfaces.answers import (
    ProjectLine,
    ReconcileResponse,
    ServerStatus,
    SignedInUser,
    Status,
)
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import change, read
from bbops_server.control_plane.web.visit import Here
from bbops_server.data_plane.live.history import find


class Decision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The commit to serve: its id, or at least seven digits of it.

    `base` is the live commit, for all that is between the two; empty for one commit.
    """

    commit: str
    base: str = ""


class Accepted(msgspec.Struct, frozen=True):
    """The server will look soon; its status says what comes of it."""

    status: str = "accepted"


@read("/api/whoami", Permission.KNOW_ONESELF)
async def read_oneself(visit: Here) -> SignedInUser:
    """Who you are signed in as, and what you may do."""
    one = visit.caller
    projects = {name: role.value for name, role in one.projects.items()}
    scopes = sorted(scope.value for scope in one.scopes)
    return SignedInUser(one.how, one.email, one.name, one.role, projects, scopes)


@read("/api/server", Permission.READ_SERVER)
async def read_server(visit: Here) -> ServerStatus:
    """The file that names this server's projects, if there is one, and what is wrong in it."""
    return visit.control.status.server()


@read("/api/projects", Permission.KNOW_ONESELF)
async def list_projects(visit: Here) -> list[ProjectLine]:
    """Every project of this server that you may see."""
    return [
        ProjectLine(one.name, one.applied_revision, one.url, one.is_ready)
        for one in visit.control.status.projects()
        if visit.may(Permission.READ_PROJECT, one.name)
    ]


@read("/api/projects/{name:str}/status", Permission.READ_PROJECT)
async def read_status(visit: Here, name: FromPath[str]) -> Status:
    """How far one project is: its conditions, diagnostics and last publications."""
    for one in visit.control.status.projects():
        if one.name == name:
            return one
    raise _unknown(name)


@change("/api/projects/{name:str}/reconcile", Permission.RECONCILE)
async def reconcile(
    visit: Here, name: FromPath[str], *, again: Annotated[bool, QueryParameter()] = False
) -> ReconcileResponse:
    """Look at the project's repository now, and publish its newest commit.

    A commit that is live is published again only with `again`. The status of the project is about
    this request once its `handled_at` has reached `requested_at`.
    """
    requested_at = visit.control.status.reconcile(name, again=again)
    if requested_at is None:
        raise _unknown(name)
    await visit.note("reconcile", object=name)
    return ReconcileResponse(requested_at)


@change("/api/projects/{name:str}/accept", Permission.ACCEPT)
async def accept(visit: Here, name: FromPath[str], data: Annotated[Decision, Body()]) -> Accepted:
    """Serve a commit that is held: rewritten, unreviewed, or without too much of the project."""
    try:
        is_known = visit.control.status.accept(name, data.commit, data.base)
    except ServerError as error:
        raise refuse(error) from None
    if not is_known:
        raise _unknown(name)
    between = f"{data.base}..{data.commit}" if data.base else data.commit
    await visit.note("accept", object=f"{name} {between}")
    return Accepted()


@read("/api/projects/{name:str}/requests", Permission.READ_REQUESTS)
async def list_requests(
    visit: Here,
    name: FromPath[str],
    limit: Annotated[int, QueryParameter(ge=1, le=1_000)] = 50,
    after: Annotated[int, QueryParameter(ge=0)] = 0,
    status_filter: Annotated[
        str | None, QueryParameter(name="status", pattern="^[1-5]([0-9]{2}|xx)$")
    ] = None,
    method: Annotated[str | None, QueryParameter()] = None,
    path: Annotated[str | None, QueryParameter()] = None,
    endpoint: Annotated[str | None, QueryParameter()] = None,
    text: Annotated[str | None, QueryParameter(max_length=200)] = None,
    slower_than: Annotated[float | None, QueryParameter()] = None,
    since: Annotated[float, QueryParameter(ge=0)] = 0.0,
    until: Annotated[float | None, QueryParameter(ge=0)] = None,
    *,
    details: Annotated[bool, QueryParameter()] = False,
) -> list[dict[str, Any]]:
    """The newest requests the project answered, newest last; `after` is an id seen before.

    `since` and `until` are seconds since 1970; with `details` comes what was asked and answered,
    of endpoints that keep it.
    """
    history = visit.control.status.history(name)
    if history is None:
        raise _unknown(name)
    filters: dict[str, Any] = {
        "status": status_filter, "method": method, "path": path, "endpoint": endpoint,
        "text": text, "slower_than": slower_than, "until": until,
    }  # fmt: skip
    return await visit.control.ask(
        find, history, limit=limit, after=after, since=since, details=details, **filters
    )


def _unknown(name: str) -> NotFoundException:
    return NotFoundException(f"there is no project '{name}'")


ROUTES = (
    read_oneself, read_server, list_projects, read_status, reconcile, accept, list_requests,
)  # fmt: skip
