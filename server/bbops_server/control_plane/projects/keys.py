"""API keys of a project or draft."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Final

import msgspec
from litestar import Response
from litestar.params import Body, FromPath

from bbops.interfaces.answers import ApiKeyInfo, IssuedKey
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.visited_project import (
    Visited,
    VisitedProject,
    change_both,
    read_both,
)
from bbops_server.control_plane.web.frame import Panel
from bbops_server.control_plane.web.routes import page
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


@read_both("/keys", Permission.MANAGE_KEYS, Permission.MANAGE_DRAFT_KEYS)
async def list_keys(project: Visited) -> list[ApiKeyInfo]:
    """Every API key with expired and revoked ones, newest first; never the keys themselves."""
    return await _list(project)


@change_both("/keys", Permission.MANAGE_KEYS, Permission.MANAGE_DRAFT_KEYS, status=201)
async def issue_key(project: Visited, data: Annotated[NewKey, Body()]) -> IssuedKey:
    """Create a key. It is shown only once."""
    key = await project.ask(IssueKey, data.name, data.channels, data.expires_in, data.claims)
    await project.note("issue API key", f"{key.id} {data.name}")
    return IssuedKey(key.id, key.key)


@change_both(
    "/keys/{key:str}/rotate", Permission.MANAGE_KEYS, Permission.MANAGE_DRAFT_KEYS, status=201
)
async def rotate_key(
    project: Visited, key: FromPath[str], data: Annotated[Overlap, Body()]
) -> IssuedKey:
    """Replace a key, given by id or prefix. The old key stays valid for `overlap`."""
    new = await project.ask(RotateKey, key, data.overlap)
    await project.note("rotate API key", f"{key} becomes {new.id}")
    return IssuedKey(new.id, new.key)


@change_both("/keys/{key:str}/revoke", Permission.MANAGE_KEYS, Permission.MANAGE_DRAFT_KEYS)
async def revoke_key(project: Visited, key: FromPath[str]) -> EndedKey:
    """Revoke a key, given by id or prefix."""
    revoked = await project.ask(RevokeKey, key)
    await project.note("revoke API key", revoked.id)
    return EndedKey(revoked.id)


@page("/projects/{name:str}/keys", Permission.MANAGE_KEYS)
async def show_keys(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Show every key with its expiry and its last use."""
    keys = [_with_dates(key) for key in await _list(VisitedProject.open(visit, name))]
    return visit.page("keys", project=name, keys=keys)


async def _list(project: VisitedProject) -> list[ApiKeyInfo]:
    return msgspec.convert((await project.ask(ListKeys)).keys, list[ApiKeyInfo])


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
ROUTES = (*list_keys, *issue_key, *rotate_key, *revoke_key, show_keys)
