"""The history of a project: versions, publications, suspension and rollbacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec
from litestar.exceptions import NotFoundException, PermissionDeniedException
from litestar.params import Body, FromPath, QueryParameter

from bbops.base.errors import BbopsError, ServerError
from bbops.interfaces.answers import Publication, RollbackResult
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.proposals.review import VisitedProposals
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import change, read, require_permission
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.publish.projects.versions import ProjectVersions

MAX_TOPIC: Final = 200
_TEXT = msgspec.Meta(max_length=500)


class SuspendRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The reason to suspend publications."""

    reason: Annotated[str, _TEXT] = ""


class SuspensionState(msgspec.Struct, frozen=True):
    """Whether publications are suspended now, and whether they were before."""

    suspended: bool
    was_suspended: bool


class ExemptedRevision(msgspec.Struct, frozen=True):
    """The revision that is published despite a freeze."""

    revision: str


class RollbackRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The version to restore; `only` limits it to some resources.

    The rollback is proposed; with `now` it is pushed to the live branch, which needs a maintainer.
    """

    version: Annotated[str, _TEXT]
    only: Annotated[list[Annotated[str, _TEXT]], msgspec.Meta(max_length=100)] = []
    now: bool = False


@read("/api/projects/{name:str}/versions", Permission.READ_PROJECT)
async def list_versions(visit: Here, name: FromPath[str]) -> list[dict[str, Any]]:
    """The published versions, newest first: tags of the repository."""
    return await read_versions(visit, name)


@read("/api/projects/{name:str}/compare", Permission.READ_PROJECT)
async def compare_versions(
    visit: Here, name: FromPath[str],
    old: Annotated[str, QueryParameter(min_length=1, max_length=200)],
    new: Annotated[str, QueryParameter(min_length=1, max_length=200)],
) -> dict[str, Any]:  # fmt: skip
    """The plan and the difference of two versions, such as v1 and v2."""
    return await compare(visit, name, old, new)


@read("/api/projects/{name:str}/publications", Permission.READ_PROJECT)
async def list_publications(
    visit: Here, name: FromPath[str],
    limit: Annotated[int, QueryParameter(ge=1, le=1_000)] = 50,
) -> list[Publication]:  # fmt: skip
    """The newest publications, newest last: author, time, changes, and result."""
    return await visit.control.run(find_versions(visit, name).publications, limit)


@change("/api/projects/{name:str}/suspend", Permission.SUSPEND)
async def suspend(
    visit: Here, name: FromPath[str], data: Annotated[SuspendRequest, Body()]
) -> SuspensionState:
    """Suspend publications; the live release keeps serving."""
    find_versions(visit, name).suspend(visit.caller.email, data.reason)
    await visit.note("suspend", object=name)
    return SuspensionState(suspended=True, was_suspended=False)


@change("/api/projects/{name:str}/resume", Permission.SUSPEND)
async def resume(visit: Here, name: FromPath[str]) -> SuspensionState:
    """Resume publications, with the newest commit."""
    was_suspended = find_versions(visit, name).resume()
    await visit.note("resume", object=name)
    return SuspensionState(suspended=False, was_suspended=was_suspended)


@change("/api/projects/{name:str}/exempt", Permission.SUSPEND)
async def exempt(visit: Here, name: FromPath[str]) -> ExemptedRevision:
    """Publish the newest commit despite a freeze; later commits wait."""
    try:
        revision = find_versions(visit, name).exempt(
            visit.caller.email, visit.caller.person
        )  # fmt: skip
    except BbopsError as error:
        raise refuse(error) from None
    await visit.note("publish despite freeze", object=f"{name} {revision}")
    return ExemptedRevision(revision)


@change("/api/projects/{name:str}/rollback", Permission.PROPOSE)
async def roll_back(
    visit: Here, name: FromPath[str], data: Annotated[RollbackRequest, Body()]
) -> RollbackResult:
    """Propose a rollback to a version; with `now`, push it to the live branch."""
    if not data.now:
        return await propose_rollback(visit, name, data)
    await require_permission(visit, Permission.ROLL_BACK, name)
    try:
        restored = await push_rollback(visit, name, data)
    except (BbopsError, PermissionDeniedException) as error:
        await visit.note("roll back", object=f"{name} {data.version}", outcome="refused")
        raise refuse(error) if isinstance(error, BbopsError) else error from None
    await visit.note("roll back", object=f"{name} {data.version}")
    return RollbackResult(restored["commit"], restored["branch"], restored["version"])


async def push_rollback(visit: Visit, name: str, data: RollbackRequest) -> Mapping[str, str]:
    """Push a commit that restores a version to the live branch; return the facts of `restore`.

    Raises:
        BbopsError: nothing was pushed, because the commit would not go live, or would relax the
            rules of review.
        PermissionDeniedException: it changes files of a project for which permission is missing.
    """
    versions = find_versions(visit, name)
    versions.require_open(data.version)
    restored = await versions.restore(data.version, data.only, visit.caller.email)
    try:
        await VisitedProposals(visit, name).require_unreviewed(restored["commit"], restored["base"])
    except BbopsError as error:
        hint = f"nothing has changed; 'bbops rollback {data.version} --propose' asks for a review"
        message = f"{restored['version']} cannot go live at once: {error.message}"
        raise ServerError(message, hint=hint) from None
    await versions.put(restored)
    return restored


async def propose_rollback(visit: Visit, name: str, data: RollbackRequest) -> RollbackResult:
    """Open a proposal that restores a version.

    Raises:
        ClientException: the version does not exist, or nothing would change.
        NotFoundException: the project does not exist, or this server does not host its repository.
    """
    try:
        restored = await find_versions(visit, name).restore(
            data.version, data.only, visit.caller.email
        )
    except BbopsError as error:
        raise refuse(error) from None
    proposals = VisitedProposals(visit, name)
    topic = " ".join(("rollback", restored["version"], *data.only))[:MAX_TOPIC]
    proposal = await proposals.propose(restored["commit"], topic)
    page = proposals.control.page(proposal.number)
    return RollbackResult(
        proposal.head, proposal.target, restored["version"], proposal.number, page
    )


async def read_versions(visit: Visit, name: str) -> list[dict[str, Any]]:
    """Return the versions, newest first. Raises: HTTPException: they cannot be read."""
    try:
        return await find_versions(visit, name).tags()
    except BbopsError as error:
        raise refuse(error) from None


async def compare(visit: Visit, name: str, old: str, new: str) -> dict[str, Any]:
    """Return the plan and the difference of two versions. Raises as `read_versions`."""
    try:
        return await find_versions(visit, name).compare(old, new)
    except BbopsError as error:
        raise refuse(error) from None


def find_versions(visit: Visit, name: str) -> ProjectVersions:
    """Return the history of a project. Raises: NotFoundException: it does not exist."""
    versions = visit.control.status.versions(name)
    if versions is None:
        raise NotFoundException(f"there is no project '{name}'")
    return versions


ROUTES = (
    list_versions, compare_versions, list_publications, suspend, resume, exempt, roll_back,
)  # fmt: skip
