"""The history of a project: its versions and publications, a pause, and rollbacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec
from litestar.exceptions import NotFoundException, PermissionDeniedException
from litestar.params import Body, FromPath, QueryParameter

from bbops.base.errors import BbopsError, ServerError
from bbops.interfaces.answers import Publication, RollbackResult
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.proposals.review import Reviewing
from bbops_server.control_plane.web.permissions import demand
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import change, read
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.publish.projects.protocols import VersionSource

MOST_TOPIC: Final = 200
_WORDS = msgspec.Meta(max_length=500)


class Pause(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why nothing new shall go live."""

    reason: Annotated[str, _WORDS] = ""


class Paused(msgspec.Struct, frozen=True):
    """Whether publications are suspended now, and were before."""

    suspended: bool
    was_suspended: bool


class Exempted(msgspec.Struct, frozen=True):
    """What goes live in spite of a freeze."""

    revision: str


class WayBack(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The version to go back to; `only` names resources, else it is all of the project.

    It is proposed; with `now` it goes to the live branch itself, which maintainers may.
    """

    version: Annotated[str, _WORDS]
    only: Annotated[list[Annotated[str, _WORDS]], msgspec.Meta(max_length=100)] = []
    now: bool = False


@read("/api/projects/{name:str}/versions", Permission.READ_PROJECT)
async def list_versions(visit: Here, name: FromPath[str]) -> list[dict[str, Any]]:
    """What went live, newest first: the tags of the repository."""
    try:
        return await find_versions(visit, name).tags()
    except BbopsError as error:
        raise refuse(error) from None


@read("/api/projects/{name:str}/publications", Permission.READ_PROJECT)
async def list_publications(
    visit: Here, name: FromPath[str],
    limit: Annotated[int, QueryParameter(ge=1, le=1_000)] = 50,
) -> list[Publication]:  # fmt: skip
    """The newest attempts to go live, the newest last: who, when, what, and how each ended."""
    return await visit.control.ask(find_versions(visit, name).publications, limit)


@change("/api/projects/{name:str}/suspend", Permission.SUSPEND)
async def suspend(visit: Here, name: FromPath[str], data: Annotated[Pause, Body()]) -> Paused:
    """Let nothing new go live until it is resumed; what is live stays."""
    find_versions(visit, name).suspend(visit.caller.email, data.reason)
    await visit.note("suspend", object=name)
    return Paused(suspended=True, was_suspended=False)


@change("/api/projects/{name:str}/resume", Permission.SUSPEND)
async def resume(visit: Here, name: FromPath[str]) -> Paused:
    """Let what is newest go live."""
    was_suspended = find_versions(visit, name).resume()
    await visit.note("resume", object=name)
    return Paused(suspended=False, was_suspended=was_suspended)


@change("/api/projects/{name:str}/exempt", Permission.SUSPEND)
async def exempt(visit: Here, name: FromPath[str]) -> Exempted:
    """Let the newest commit go live in spite of a freeze; the next one waits again."""
    try:
        revision = find_versions(visit, name).exempt(visit.caller.email)
    except BbopsError as error:
        raise refuse(error) from None
    await visit.note("publish despite freeze", object=f"{name} {revision}")
    return Exempted(revision)


@change("/api/projects/{name:str}/rollback", Permission.PROPOSE)
async def roll_back(
    visit: Here, name: FromPath[str], data: Annotated[WayBack, Body()]
) -> RollbackResult:
    """Propose what restores a version; with `now`, put it on the live branch without a proposal."""
    if not data.now:
        return await propose_going_back(visit, name, data)
    await demand(visit, Permission.ROLL_BACK, name)
    try:
        found = await go_back(visit, name, data)
    except (BbopsError, PermissionDeniedException) as error:
        await visit.note("roll back", object=f"{name} {data.version}", outcome="refused")
        raise refuse(error) if isinstance(error, BbopsError) else error from None
    await visit.note("roll back", object=f"{name} {data.version}")
    return RollbackResult(found["commit"], found["branch"], found["version"])


async def go_back(visit: Visit, name: str, data: WayBack) -> Mapping[str, str]:
    """Put a commit on the live branch that restores a version; return what `restore` says.

    Raises:
        BbopsError: nothing has changed, for the commit would not go live, or the rules of review
            would be looser by it.
        PermissionDeniedException: it changes files of a project in which they may not.
    """
    versions = find_versions(visit, name)
    versions.require_open(data.version)
    found = await versions.restore(data.version, data.only, visit.caller.email)
    try:
        await Reviewing(visit, name).require_unreviewed(found["commit"], found["base"])
    except BbopsError as error:
        hint = f"nothing has changed; 'bbops rollback {data.version} --propose' asks for a review"
        message = f"{found['version']} cannot go live at once: {error.message}"
        raise ServerError(message, hint=hint) from None
    await versions.put(found)
    return found


async def propose_going_back(visit: Visit, name: str, data: WayBack) -> RollbackResult:
    """Open a proposal that restores a version.

    Raises:
        ClientException: there is no such version, or nothing would change.
        NotFoundException: there is no such project, or it is kept elsewhere.
    """
    try:
        found = await find_versions(visit, name).restore(
            data.version, data.only, visit.caller.email
        )
    except BbopsError as error:
        raise refuse(error) from None
    reviewing = Reviewing(visit, name)
    topic = " ".join(("rollback", found["version"], *data.only))[:MOST_TOPIC]
    made = await reviewing.propose(found["commit"], topic)
    page = reviewing.control.page(made.number)
    return RollbackResult(made.head, made.target, found["version"], made.number, page)


def find_versions(visit: Visit, name: str) -> VersionSource:
    """Return the history of a project. Raises: NotFoundException: there is none of that name."""
    found = visit.control.status.versions(name)
    if found is None:
        raise NotFoundException(f"there is no project '{name}'")
    return found


ROUTES = (list_versions, list_publications, suspend, resume, exempt, roll_back)
