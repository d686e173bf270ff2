"""Pages of the workspace: its profile and features, and the audit log."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Response
from litestar.params import FromQuery, QueryParameter

from bbops_server.accounts.errors import AccountError
from bbops_server.accounts.feature_names import FEATURES
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.routes import form, page
from bbops_server.control_plane.web.visit import Here, Visit

PAGE_SIZE = 100


async def _show(visit: Visit, status: int = 200, **more: Any) -> Response[Any]:
    found = await visit.control.ask(visit.book.workspaces.get)
    return visit.page("workspace", status, **{"workspace": found, "said": ""} | more)


@page("/workspace", Permission.READ_WORKSPACE)
async def show_workspace(visit: Here, done: FromQuery[str] = "") -> Response[Any]:
    """Show what owns the projects, and which features they may use."""
    return await _show(visit, said="The workspace was saved." if done else "")


@form("/workspace", Permission.CHANGE_WORKSPACE)
async def save_workspace(visit: Here) -> Response[Any]:
    """Change the workspace; every project is looked at again, for a feature may be off now."""
    name, company = await visit.field("name"), await visit.field("company")
    chosen = await visit.fields("feature")
    try:
        await visit.control.ask(visit.book.workspaces.set_profile, name, company)
    except AccountError as error:
        return await _show(visit, 400, error=error)
    for feature in FEATURES:
        await visit.control.ask(visit.book.workspaces.set_feature, feature, on=feature in chosen)
    for project in visit.control.status.projects():
        visit.control.status.reconcile(project.name, again=True)
    await visit.note("change workspace", object=f"features: {', '.join(chosen) or 'none'}")
    return visit.go("/workspace?done=saved")


@page("/audit", Permission.READ_AUDIT)
async def show_audit(
    visit: Here, before: Annotated[int | None, QueryParameter(ge=1)] = None
) -> Response[Any]:
    """Show what was done, newest first."""
    entries = await visit.control.ask(visit.book.audit.list, before=before, limit=PAGE_SIZE)
    older = entries[-1].number if len(entries) == PAGE_SIZE else None
    return visit.page("audit", entries=entries, older=older)


ROUTES = (show_workspace, save_workspace, show_audit)
