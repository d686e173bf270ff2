"""API for the status and held commits of projects."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

import msgspec
from litestar.exceptions import NotFoundException
from litestar.params import Body, FromPath, QueryParameter

from bbops.base.errors import BbopsError, ServerError
from bbops.base.render import one_line
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
from bbops_server.control_plane.web.visit import Here, Visit

_MAX_BRANCH: Final = 250
_COMMIT: Final = "^([0-9a-f]{40}|[0-9a-f]{64})?$"


class Decision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The commit to publish, by its full id.

    `base` is the full id of the live commit, to accept every commit between the two; empty for one
    commit.
    """

    commit: str
    base: str = ""


class Accepted(msgspec.Struct, frozen=True):
    """The request was accepted; the status of the project shows its result."""

    status: str = "accepted"


@read("/api/whoami", Permission.KNOW_ONESELF)
async def read_oneself(visit: Here) -> SignedInUser:
    """The signed-in user, and their roles and scopes."""
    caller = visit.caller
    projects = {name: role.value for name, role in caller.projects.items()}
    scopes = sorted(scope.value for scope in caller.scopes)
    return SignedInUser(caller.how, caller.email, caller.name, caller.role, projects, scopes)


@read("/api/server", Permission.READ_SERVER)
async def read_server(visit: Here) -> ServerStatus:
    """The file with this server's projects, if there is one, and its diagnostics."""
    return visit.control.status.server()


@read("/api/projects", Permission.KNOW_ONESELF)
async def list_projects(visit: Here) -> list[ProjectLine]:
    """Every project of this server that you may see."""
    return [
        ProjectLine(project.name, project.applied_revision, project.url, project.is_ready)
        for project in visit.control.status.projects()
        if visit.may(Permission.READ_PROJECT, project.name)
    ]


@read("/api/projects/{name:str}/status", Permission.READ_STATUS)
async def read_status(
    visit: Here,
    name: FromPath[str],
    *,
    commit: Annotated[str, QueryParameter(pattern=_COMMIT)] = "",
) -> Status:
    """The status of a project: its conditions, diagnostics and last publications.

    With `commit`, the whole id of a commit, also its place in the history of the branch.
    """
    status = visit.control.project(name)
    if status is None:
        raise _unknown(name)
    versions = visit.control.status.versions(name) if commit else None
    if versions is None:
        return status
    try:
        located = await versions.locate(commit)
    except BbopsError as error:
        raise refuse(error) from None
    # The status is read again: the commit may have gone live meanwhile.
    return msgspec.structs.replace(visit.control.project(name) or status, commit=located)


@change("/api/projects/{name:str}/reconcile", Permission.RECONCILE)
async def reconcile(
    visit: Here,
    name: FromPath[str],
    *,
    again: Annotated[bool, QueryParameter()] = False,
    draft: Annotated[str, QueryParameter(max_length=_MAX_BRANCH)] = "",
) -> ReconcileResponse:
    """Fetch the project's repository now, and publish its newest commit.

    A live commit is published again only with `again`. The status of the project includes this
    request once its `handled_at` has reached `requested_at`. With `draft`, the name of a branch,
    its draft is built instead, and nothing is published.
    """
    requested_at = _build_draft(visit, name, draft) if draft else (
        visit.control.status.reconcile(name, again=again)
    )  # fmt: skip
    if requested_at is None:
        raise _unknown(name)
    subject = f"{name} draft {draft}" if draft else name
    run = f" {visit.caller.name}" if visit.caller.how == "ci" else ""
    await visit.note("reconcile", object=one_line(subject) + run)
    return ReconcileResponse(requested_at)


def _build_draft(visit: Visit, name: str, branch: str) -> datetime | None:
    drafts = visit.control.status.drafts(name)
    if drafts is None:
        return None
    drafts.build(branch)
    return visit.book.ci_tokens.now()


@change("/api/projects/{name:str}/accept", Permission.ACCEPT)
async def accept(visit: Here, name: FromPath[str], data: Annotated[Decision, Body()]) -> Accepted:
    """Publish a held commit: rewritten, unreviewed, or with too many removals."""
    try:
        is_known = visit.control.status.accept(name, data.commit, data.base, visit.caller.email)
    except ServerError as error:
        raise refuse(error) from None
    if not is_known:
        raise _unknown(name)
    between = f"{data.base}..{data.commit}" if data.base else data.commit
    await visit.note("accept", object=f"{name} {between}")
    return Accepted()


def _unknown(name: str) -> NotFoundException:
    return NotFoundException(f"there is no project '{name}'")


ROUTES = (read_oneself, read_server, list_projects, read_status, reconcile, accept)
