"""The page of versions: list, compare and roll back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Final
from urllib.parse import quote

from litestar import Response
from litestar.exceptions import ClientException, HTTPException, PermissionDeniedException
from litestar.params import FromPath, QueryParameter

from bbops.base.errors import BbopsError
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.versions import (
    RollbackRequest,
    compare,
    propose_rollback,
    push_rollback,
    read_versions,
)
from bbops_server.control_plane.web.frame import Panel
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import form, page, require_permission
from bbops_server.control_plane.web.visit import Here, Visit

MAX_SHOWN: Final = 100


@page("/projects/{name:str}/versions", Permission.READ_PROJECT)
async def show_versions(
    visit: Here, name: FromPath[str],
    old: Annotated[str, QueryParameter(max_length=200)] = "",
    new: Annotated[str, QueryParameter(max_length=200)] = "",
) -> Response[Any]:  # fmt: skip
    """Show the versions, newest first, and the comparison of two of them."""
    versions = await read_versions(visit, name)
    compared = await compare(visit, name, old, new) if old and new else None
    status = visit.control.project(name)
    rows = [
        {**version, "moment": datetime.fromisoformat(version["at"]).astimezone(UTC)}
        for version in versions[:MAX_SHOWN]
    ]
    return visit.page(
        "versions", project=name, versions=rows, compared=compared, old=old, new=new,
        live=status.version if status else "", total=len(versions),
    )  # fmt: skip


@form("/projects/{name:str}/versions", Permission.PROPOSE)
async def roll_back_by_page(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Propose a rollback, or roll back now."""
    version, action = await visit.field("version"), await visit.field("action")
    if not version:
        raise ClientException("a version is required")
    request = RollbackRequest(version[:500], now=action == "now")
    if not request.now:
        made = await propose_rollback(visit, name, request)
        return visit.go(f"/projects/{quote(name)}/proposals/{made.proposal}")
    await _push(visit, name, request)
    return visit.go(f"/projects/{quote(name)}")


async def _push(visit: Visit, name: str, request: RollbackRequest) -> None:
    """Push a rollback to the live branch, and write the audit log."""
    await require_permission(visit, Permission.ROLL_BACK, name)
    target = f"{name} {request.version}"
    try:
        await push_rollback(visit, name, request)
    except (BbopsError, PermissionDeniedException, HTTPException) as error:
        await visit.note("roll back", object=target, outcome="refused")
        raise refuse(error) if isinstance(error, BbopsError) else error from None
    await visit.note("roll back", object=target)


PANEL = Panel(
    "Ship", 30, "Versions", "tag", "/versions",
    actions=(("Roll back", Permission.PROPOSE), ("Compare versions", Permission.READ_PROJECT)),
)  # fmt: skip
ROUTES = (show_versions, roll_back_by_page)
