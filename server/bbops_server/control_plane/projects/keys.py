"""API keys of a project's channels: issued, listed, replaced, revoked by who runs the project."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Final

import msgspec
from litestar import Response
from litestar.exceptions import NotFoundException
from litestar.params import Body, FromPath

from bbops.base.errors import BbopsError
from bbops.interfaces.answers import ApiKey, IssuedKey
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import change, page, read
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.publish.projects.protocols import KeySource

_WORD: Final = msgspec.Meta(min_length=1, max_length=200)
_DURATION: Final = msgspec.Meta(pattern="^[1-9][0-9]{0,6}(s|m|h|d|w)$")


class NewKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a key is for. Without channels it opens all that take keys, does not expire it has none.

    `claims` is what functions read as `vars.apiKey.claims`.
    """

    name: Annotated[str, _WORD]
    channels: Annotated[list[Annotated[str, _WORD]], msgspec.Meta(max_length=100)] = []
    expires_in: Annotated[str, _DURATION] | None = None
    claims: dict[str, Any] = {}


class Overlap(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long the key before counts on, such as `24h`."""

    overlap: Annotated[str, msgspec.Meta(pattern="^[0-9]{1,7}(s|m|h|d|w)$")] = "24h"


class EndedKey(msgspec.Struct, frozen=True):
    """A key that opens nothing any more, in every process within seconds."""

    id: str


@read("/api/projects/{name:str}/keys", Permission.MANAGE_KEYS)
async def list_keys(visit: Here, name: FromPath[str]) -> list[ApiKey]:
    """Every API key, newest first, with those that have ended; never the keys themselves."""
    return await Keys(visit, name).list()


@change("/api/projects/{name:str}/keys", Permission.MANAGE_KEYS, status=201)
async def issue_key(visit: Here, name: FromPath[str], data: Annotated[NewKey, Body()]) -> IssuedKey:
    """Make a key. Nobody can show it again."""
    return await Keys(visit, name).issue(data)


@change("/api/projects/{name:str}/keys/{key:str}/rotate", Permission.MANAGE_KEYS, status=201)
async def rotate_key(
    visit: Here, name: FromPath[str], key: FromPath[str], data: Annotated[Overlap, Body()]
) -> IssuedKey:
    """Make a key in the place of another, named by id or prefix, which counts on for a while."""
    return await Keys(visit, name).rotate(key, data)


@change("/api/projects/{name:str}/keys/{key:str}/revoke", Permission.MANAGE_KEYS, status=200)
async def revoke_key(visit: Here, name: FromPath[str], key: FromPath[str]) -> EndedKey:
    """End a key, named by id or prefix."""
    return await Keys(visit, name).revoke(key)


OF_DRAFT: Final = "/api/projects/{name:str}/drafts/{slug:str}/keys"


@read(OF_DRAFT, Permission.MANAGE_DRAFT_KEYS)
async def list_draft_keys(visit: Here, name: FromPath[str], slug: FromPath[str]) -> list[ApiKey]:
    """Every API key of a draft, as of the project; a draft that starts again has none."""
    return await Keys(visit, name, slug).list()


@change(OF_DRAFT, Permission.MANAGE_DRAFT_KEYS, status=201)
async def issue_draft_key(
    visit: Here, name: FromPath[str], slug: FromPath[str], data: Annotated[NewKey, Body()]
) -> IssuedKey:
    """Make a key that opens channels of a draft alone."""
    return await Keys(visit, name, slug).issue(data)


@change(f"{OF_DRAFT}/{{key:str}}/rotate", Permission.MANAGE_DRAFT_KEYS, status=201)
async def rotate_draft_key(
    visit: Here, name: FromPath[str], slug: FromPath[str], key: FromPath[str],
    data: Annotated[Overlap, Body()],
) -> IssuedKey:  # fmt: skip
    """Make a key of a draft in the place of another."""
    return await Keys(visit, name, slug).rotate(key, data)


@change(f"{OF_DRAFT}/{{key:str}}/revoke", Permission.MANAGE_DRAFT_KEYS, status=200)
async def revoke_draft_key(
    visit: Here, name: FromPath[str], slug: FromPath[str], key: FromPath[str]
) -> EndedKey:
    """End a key of a draft."""
    return await Keys(visit, name, slug).revoke(key)


@page("/projects/{name:str}/keys", Permission.MANAGE_KEYS)
async def show_keys(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Show the keys that count or did, and when each was used last."""
    found = [_dated(one) for one in await Keys(visit, name).list()]
    return visit.page("keys", project=name, keys=found)


class Keys:
    """The keys of a project, or of one of its drafts, as a visitor asks for them."""

    def __init__(self, visit: Visit, name: str, draft: str = "") -> None:
        """Raises: NotFoundException: there is no such project or draft."""
        self._visit, (self._keys, self._shown) = visit, _find(visit, name, draft)

    async def list(self) -> list[ApiKey]:
        """Return them all."""
        try:
            return msgspec.convert(await self._keys.list(), list[ApiKey])
        except BbopsError as error:
            raise refuse(error) from None

    async def issue(self, data: NewKey) -> IssuedKey:
        """Make one, on record."""
        try:
            made = await self._keys.issue(
                data.name, channels=data.channels, expires_in=data.expires_in, claims=data.claims
            )
        except BbopsError as error:
            raise refuse(error) from None
        await self._visit.note("issue API key", object=f"{self._shown} {made['id']} {data.name}")
        return IssuedKey(**made)

    async def rotate(self, key: str, data: Overlap) -> IssuedKey:
        """Replace one, on record."""
        try:
            made = await self._keys.rotate(key, data.overlap)
        except BbopsError as error:
            raise refuse(error) from None
        await self._visit.note("rotate API key", object=f"{self._shown} {key} becomes {made['id']}")
        return IssuedKey(**made)

    async def revoke(self, key: str) -> EndedKey:
        """End one, on record."""
        try:
            found = await self._keys.revoke(key)
        except BbopsError as error:
            raise refuse(error) from None
        await self._visit.note("revoke API key", object=f"{self._shown} {found}")
        return EndedKey(found)


def _find(visit: Visit, name: str, draft: str) -> tuple[KeySource, str]:
    """Return the keys, and what the audit log calls whose they are."""
    status = visit.control.status
    if not draft:
        found = status.keys(name)
        if found is None:
            raise NotFoundException(f"there is no project '{name}'")
        return found, name
    drafts = status.drafts(name)
    known = drafts.find(draft) if drafts is not None else None
    if drafts is None or known is None:
        raise NotFoundException(f"there is no project '{name}', or no draft '{draft}' of it")
    return drafts.keys(known.slug), f"{name} {known.branch}"


def _dated(one: ApiKey) -> dict[str, Any]:
    """Return what the page shows of a key, its times as such."""
    times = {
        "made": one.created_at, "ends": one.expires_at, "revoked": one.revoked_at,
        "used": one.used_at,
    }  # fmt: skip
    shown = {"prefix": one.prefix, "name": one.name, "channels": one.channels}
    return shown | {
        name: None if at is None else datetime.fromtimestamp(at, UTC) for name, at in times.items()
    }


ROUTES = (
    list_keys, issue_key, rotate_key, revoke_key,
    show_keys, list_draft_keys, issue_draft_key, rotate_draft_key, revoke_draft_key,
)  # fmt: skip
