"""Pages of the workspace: its profile and features, and the audit log."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Response
from litestar.params import FromQuery, QueryParameter

from bbops_server.accounts.feature_names import FEATURES
from bbops_server.accounts.rules import Permission
from bbops_server.accounts.text_rules import AccountError
from bbops_server.control_plane.web.routes import form, page
from bbops_server.control_plane.web.visit import Here, Visit

PAGE_SIZE = 100


async def _show(visit: Visit, status: int = 200, **more: Any) -> Response[Any]:
    workspace = await visit.control.run(visit.book.workspaces.get)
    return visit.page("workspace", status, **{"workspace": workspace, "notice": ""} | more)


@page("/workspace", Permission.READ_WORKSPACE)
async def show_workspace(visit: Here, done: FromQuery[str] = "") -> Response[Any]:
    """Show the workspace's profile and features."""
    return await _show(visit, notice="The workspace was saved." if done else "")


@form("/workspace", Permission.CHANGE_WORKSPACE)
async def save_workspace(visit: Here) -> Response[Any]:
    """Save the workspace and reconcile every project, because a feature may be off now."""
    name, company = await visit.field("name"), await visit.field("company")
    chosen = await visit.fields("feature")
    try:
        await visit.control.run(visit.book.workspaces.set_profile, name, company)
    except AccountError as error:
        return await _show(visit, 400, error=error)
    for feature in FEATURES:
        await visit.control.run(visit.book.workspaces.set_feature, feature, on=feature in chosen)
    for project in visit.control.status.projects():
        visit.control.status.reconcile(project.name, again=True)
    await visit.note("change workspace", object=f"features: {', '.join(chosen) or 'none'}")
    return visit.go("/workspace?done=saved")


@page("/audit", Permission.READ_AUDIT)
async def show_audit(
    visit: Here, before: Annotated[int | None, QueryParameter(ge=1)] = None
) -> Response[Any]:
    """Show the audit log, newest first."""
    entries = await visit.control.run(visit.book.audit.list, before=before, limit=PAGE_SIZE)
    older = entries[-1].number if len(entries) == PAGE_SIZE else None
    return visit.page("audit", entries=entries, older=older)


ROUTES = (show_workspace, save_workspace, show_audit)
