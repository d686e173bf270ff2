"""API keys of a project's channels: issued, listed, replaced, revoked by who runs the project."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from litestar.exceptions import NotFoundException
from litestar.params import Body, FromPath

from bbops.errors import BbopsError
from bbops_server.accounts.rules import Permission
from bbops_server.control.refusals import refuse
from bbops_server.control.routes import change, read
from bbops_server.control.visit import Here, Visit
from bbops_server.reconciler.status import KeySource

_WORD: Final = msgspec.Meta(min_length=1, max_length=200)
_DURATION: Final = msgspec.Meta(pattern="^[1-9][0-9]{0,6}(s|m|h|d|w)$")


class NewKey(msgspec.Struct, frozen=True):
    """What a key is for. Without channels it opens all that take keys, without an end it has none.

    `claims` is what functions read as `vars.apiKey.claims`.
    """

    name: Annotated[str, _WORD]
    channels: Annotated[list[Annotated[str, _WORD]], msgspec.Meta(max_length=100)] = []
    expires_in: Annotated[str, _DURATION] | None = None
    claims: dict[str, Any] = {}


class Overlap(msgspec.Struct, frozen=True):
    """How long the key before counts on, such as `24h`."""

    overlap: Annotated[str, msgspec.Meta(pattern="^[0-9]{1,7}(s|m|h|d|w)$")] = "24h"


class IssuedKey(msgspec.Struct, frozen=True):
    """A key that is shown once: only its hash is kept."""

    id: str
    key: str


class EndedKey(msgspec.Struct, frozen=True):
    """A key that opens nothing any more, in every process within seconds."""

    id: str


class KnownKey(msgspec.Struct, frozen=True):
    """What is known of a key; times are seconds since 1970, `channels` null means every one."""

    id: str
    prefix: str
    name: str
    channels: list[str] | None
    claims: dict[str, Any]
    created_at: float
    expires_at: float | None
    revoked_at: float | None


@read("/api/projects/{name:str}/keys", Permission.MANAGE_KEYS)
async def list_keys(visit: Here, name: FromPath[str]) -> list[KnownKey]:
    """Every API key, the newest first, with those that have ended; never the keys themselves."""
    try:
        return msgspec.convert(await _keys(visit, name).list(), list[KnownKey])
    except BbopsError as error:
        raise refuse(error) from None


@change("/api/projects/{name:str}/keys", Permission.MANAGE_KEYS, status=201)
async def issue_key(visit: Here, name: FromPath[str], data: Annotated[NewKey, Body()]) -> IssuedKey:
    """Make a key. Nobody can show it again."""
    try:
        made = await _keys(visit, name).issue(
            data.name, channels=data.channels, expires_in=data.expires_in, claims=data.claims
        )
    except BbopsError as error:
        raise refuse(error) from None
    await visit.note("issue API key", object=f"{name} {made['id']} {data.name}")
    return IssuedKey(**made)


@change("/api/projects/{name:str}/keys/{key:str}/rotate", Permission.MANAGE_KEYS, status=201)
async def rotate_key(
    visit: Here, name: FromPath[str], key: FromPath[str], data: Annotated[Overlap, Body()]
) -> IssuedKey:
    """Make a key in the place of another, named by id or prefix, which counts on for a while."""
    try:
        made = await _keys(visit, name).rotate(key, data.overlap)
    except BbopsError as error:
        raise refuse(error) from None
    await visit.note("rotate API key", object=f"{name} {key} becomes {made['id']}")
    return IssuedKey(**made)


@change("/api/projects/{name:str}/keys/{key:str}/revoke", Permission.MANAGE_KEYS, status=200)
async def revoke_key(visit: Here, name: FromPath[str], key: FromPath[str]) -> EndedKey:
    """End a key, named by id or prefix."""
    try:
        found = await _keys(visit, name).revoke(key)
    except BbopsError as error:
        raise refuse(error) from None
    await visit.note("revoke API key", object=f"{name} {found}")
    return EndedKey(found)


def _keys(visit: Visit, name: str) -> KeySource:
    found = visit.desk.status.keys(name)
    if found is None:
        raise NotFoundException(f"there is no project '{name}'")
    return found


ROUTES = (list_keys, issue_key, rotate_key, revoke_key)
