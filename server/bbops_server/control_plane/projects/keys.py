"""API keys of a project or draft."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Final

import msgspec
from litestar import Response
from litestar.params import Body, FromPath

from bbops.interfaces.answers import ApiKeyInfo, IssuedKey
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.visited_project import DRAFT, PROJECT, VisitedProject
from bbops_server.control_plane.web.frame import Panel
from bbops_server.control_plane.web.routes import change, page, read
from bbops_server.control_plane.web.visit import Here
from bbops_server.process.messages.api_keys import IssueKey, ListKeys, RevokeKey, RotateKey

_TEXT: Final = msgspec.Meta(min_length=1, max_length=200)
_DURATION: Final = msgspec.Meta(pattern="^[1-9][0-9]{0,6}(s|m|h|d|w)$")


class NewKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An API key to create.

    Attributes:
        channels: empty for every channel with API keys.
        expires_in: a duration; None for a key that does not expire.
        claims: values that functions read as `vars.apiKey.claims`.
    """

    name: Annotated[str, _TEXT]
    channels: Annotated[list[Annotated[str, _TEXT]], msgspec.Meta(max_length=100)] = []
    expires_in: Annotated[str, _DURATION] | None = None
    claims: dict[str, Any] = {}


class Overlap(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The time for which the old key stays valid, such as `24h`."""

    overlap: Annotated[str, msgspec.Meta(pattern="^[0-9]{1,7}(s|m|h|d|w)$")] = "24h"


class EndedKey(msgspec.Struct, frozen=True):
    """A revoked key. Every process rejects it within seconds."""

    id: str


@read(f"{PROJECT}/keys", Permission.MANAGE_KEYS)
async def list_keys(visit: Here, name: FromPath[str]) -> list[ApiKeyInfo]:
    """Every API key with expired and revoked ones, newest first; never the keys themselves."""
    return await _list(VisitedProject.open(visit, name))


@change(f"{PROJECT}/keys", Permission.MANAGE_KEYS, status=201)
async def issue_key(visit: Here, name: FromPath[str], data: Annotated[NewKey, Body()]) -> IssuedKey:
    """Create a key. It is shown only once."""
    return await _issue(VisitedProject.open(visit, name), data)


@change(f"{PROJECT}/keys/{{key:str}}/rotate", Permission.MANAGE_KEYS, status=201)
async def rotate_key(
    visit: Here, name: FromPath[str], key: FromPath[str], data: Annotated[Overlap, Body()]
) -> IssuedKey:
    """Replace a key, given by id or prefix. The old key stays valid for `overlap`."""
    return await _rotate(VisitedProject.open(visit, name), key, data)


@change(f"{PROJECT}/keys/{{key:str}}/revoke", Permission.MANAGE_KEYS, status=200)
async def revoke_key(visit: Here, name: FromPath[str], key: FromPath[str]) -> EndedKey:
    """Revoke a key, given by id or prefix."""
    return await _revoke(VisitedProject.open(visit, name), key)


@read(f"{DRAFT}/keys", Permission.MANAGE_DRAFT_KEYS)
async def list_draft_keys(
    visit: Here, name: FromPath[str], slug: FromPath[str]
) -> list[ApiKeyInfo]:
    """Every API key of a draft. A draft that is reset loses its keys."""
    return await _list(VisitedProject.open_draft(visit, name, slug))


@change(f"{DRAFT}/keys", Permission.MANAGE_DRAFT_KEYS, status=201)
async def issue_draft_key(
    visit: Here, name: FromPath[str], slug: FromPath[str], data: Annotated[NewKey, Body()]
) -> IssuedKey:
    """Create a key that is valid only in a draft."""
    return await _issue(VisitedProject.open_draft(visit, name, slug), data)


@change(f"{DRAFT}/keys/{{key:str}}/rotate", Permission.MANAGE_DRAFT_KEYS, status=201)
async def rotate_draft_key(
    visit: Here, name: FromPath[str], slug: FromPath[str], key: FromPath[str],
    data: Annotated[Overlap, Body()],
) -> IssuedKey:  # fmt: skip
    """Replace a key of a draft."""
    return await _rotate(VisitedProject.open_draft(visit, name, slug), key, data)


@change(f"{DRAFT}/keys/{{key:str}}/revoke", Permission.MANAGE_DRAFT_KEYS, status=200)
async def revoke_draft_key(
    visit: Here, name: FromPath[str], slug: FromPath[str], key: FromPath[str]
) -> EndedKey:
    """Revoke a key of a draft."""
    return await _revoke(VisitedProject.open_draft(visit, name, slug), key)


@page("/projects/{name:str}/keys", Permission.MANAGE_KEYS)
async def show_keys(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Show every key with its expiry and its last use."""
    keys = [_with_dates(key) for key in await _list(VisitedProject.open(visit, name))]
    return visit.page("keys", project=name, keys=keys)


async def _list(project: VisitedProject) -> list[ApiKeyInfo]:
    return msgspec.convert((await project.ask(ListKeys)).keys, list[ApiKeyInfo])


async def _issue(project: VisitedProject, new: NewKey) -> IssuedKey:
    key = await project.ask(IssueKey, new.name, new.channels, new.expires_in, new.claims)
    await project.note("issue API key", f"{key.id} {new.name}")
    return IssuedKey(key.id, key.key)


async def _rotate(project: VisitedProject, old: str, overlap: Overlap) -> IssuedKey:
    key = await project.ask(RotateKey, old, overlap.overlap)
    await project.note("rotate API key", f"{old} becomes {key.id}")
    return IssuedKey(key.id, key.key)


async def _revoke(project: VisitedProject, key: str) -> EndedKey:
    revoked = await project.ask(RevokeKey, key)
    await project.note("revoke API key", revoked.id)
    return EndedKey(revoked.id)


def _with_dates(key: ApiKeyInfo) -> dict[str, Any]:
    """Return the template's values for a key, with its times as datetimes."""
    times = {
        "made": key.created_at, "ends": key.expires_at, "revoked": key.revoked_at,
        "used": key.used_at,
    }  # fmt: skip
    texts = {"prefix": key.prefix, "name": key.name, "channels": key.channels}
    return texts | {
        name: None if at is None else datetime.fromtimestamp(at, UTC) for name, at in times.items()
    }


PANEL = Panel("Team", 30, "API keys", "key", "/keys", Permission.MANAGE_KEYS)
ROUTES = (
    list_keys, issue_key, rotate_key, revoke_key,
    show_keys, list_draft_keys, issue_draft_key, rotate_draft_key, revoke_draft_key,
)  # fmt: skip
