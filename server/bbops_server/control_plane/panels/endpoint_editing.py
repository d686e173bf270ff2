"""The buttons of an endpoint's page: each previews a change, and commits the previewed plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec
from litestar import Response
from litestar.exceptions import ClientException, HTTPException
from litestar.params import FromPath

from bbops.base.errors import BbopsError
from bbops.interfaces.mcp.tool import ToolError
from bbops.review.outline.outline import EndpointOutline
from bbops_server.accounts.rules import Permission
from bbops_server.accounts.text_rules import AccountError
from bbops_server.control_plane.projects.draft_changes import (
    MAX_DRAFT,
    MAX_MESSAGE,
    commit_plan,
    explain,
    find_slug_of,
)
from bbops_server.control_plane.projects.endpoint_changes import (
    MAX_DESCRIPTION,
    MAX_NAME,
    MAX_PATH,
    ChangedEndpoint,
    EndpointChange,
    EndpointPreview,
    preview_endpoint,
    suggest_draft,
)
from bbops_server.control_plane.web.outline_page import OutlinePage
from bbops_server.control_plane.web.refusals import error_text
from bbops_server.control_plane.web.routes import form
from bbops_server.control_plane.web.visit import Here, Visit

CONFLICT: Final = 409
COMMITTED: Final = "committed"
_LIMITS: Final = {
    "endpoint": MAX_NAME, "to": MAX_NAME, "path": MAX_PATH, "draft": MAX_DRAFT,
    "message": MAX_MESSAGE, "plan": 300, "description": MAX_DESCRIPTION,
}  # fmt: skip
_TITLES: Final = {
    "copy": "Duplicate", "delete": "Delete", "docs": "Visibility in the docs",
    "describe": "Description",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChangePage:
    """The page of a change.

    Attributes:
        change: the submitted change; `draft` is the branch to commit to.
        message: the submitted commit message; empty for the suggested one.
        error: the reason why the plan was not committed, or cannot be previewed.
    """

    shown: OutlinePage
    endpoint: EndpointOutline
    change: EndpointChange
    message: str = ""
    error: str = ""


@form("/projects/{name:str}/endpoints/{endpoint:path}", Permission.PUSH_DRAFT)
async def change_by_page(
    visit: Here, name: FromPath[str], endpoint: FromPath[str]
) -> Response[Any]:
    """Preview a change of an endpoint, or commit the previewed plan."""
    shown = await OutlinePage.open(visit, name)
    if shown.outline is None:
        return shown.show_errors("Endpoint")
    found = shown.pick(endpoint, shown.outline.endpoints)
    if found is None:
        return shown.show_missing(
            "endpoint", endpoint, shown.outline.endpoints, shown.links.endpoint
        )
    fields = await _read_fields(visit)
    page = ChangePage(shown, found, _read_change(shown, found, fields), fields.get("message", ""))
    if fields.get("do") != "commit":
        return await _show(page)
    return await _commit(page, fields.get("plan", ""))


async def _commit(page: ChangePage, plan: str) -> Response[Any]:
    """Commit the plan; show the reason and a new preview if it is stale."""
    shown, asked = page.shown, page.change
    visit, project = shown.visit, shown.project
    message = page.message or "Change"
    try:
        done = await commit_plan(visit, project, asked.draft, plan, message)
    except HTTPException as error:
        return await _show(replace(page, error=error_text(error)))
    has_drafts = shown.outline is not None and shown.outline.engine != "postgres"
    slug = await find_slug_of(visit, project, done.draft, done.commit) if has_drafts else ""
    if not slug:
        return await _show(page, done.draft)
    name = asked.to if asked.op == "copy" else page.endpoint.name
    path = "endpoints" if asked.op == "delete" else f"endpoints/{name}"
    return visit.go(shown.links.of(slug).to(path, done=COMMITTED))


async def _show(page: ChangePage, committed: str = "") -> Response[Any]:
    """Return the page with the preview, or with the reason why there is none.

    Args:
        page: the page.
        committed: the branch of the commit, if it has no preview.
    """
    shown, asked = page.shown, page.change
    preview: EndpointPreview | None = None
    error = page.error
    try:
        changed = ChangedEndpoint(shown.visit, shown.project, page.endpoint, asked)
        preview = None if committed else await preview_endpoint(changed)
    except (ToolError, BbopsError) as refused:
        error = error or explain(refused)
    return shown.show(
        "endpoint_change", CONFLICT if error else 200, endpoint=page.endpoint, change=asked,
        preview=preview, branch=committed, title=_TITLES[asked.op],
        error=AccountError(error) if error else None,
        message=page.message or (preview.message if preview else ""),
    )  # fmt: skip


async def _read_fields(visit: Visit) -> dict[str, str]:
    """Return the texts of the form. Raises: ClientException: a text is too long."""
    sent = await visit.request.form()
    fields = {
        name: value.replace("\r\n", "\n").strip()
        for name, value in sent.items()
        if isinstance(value, str)
    }
    for name, limit in _LIMITS.items():
        if len(fields.get(name, "")) > limit:
            raise ClientException(
                f"the field '{name}' has {len(fields[name]):,} characters, at most {limit:,} are"
                " allowed"
            )
    return fields


def _read_change(
    shown: OutlinePage, endpoint: EndpointOutline, fields: dict[str, str]
) -> EndpointChange:
    """Return the submitted change, with names for a copy and a new draft.

    Raises:
        ClientException: there is no such operation.
    """
    known = {
        key: fields[key]
        for key in ("op", "to", "path", "docs", "description", "draft")
        if fields.get(key)
    }
    try:
        asked = msgspec.convert(
            {**known, "endpoint": endpoint.name, "tests": bool(fields.get("tests"))},
            EndpointChange,
        )
    except msgspec.ValidationError as error:
        raise ClientException(f"the form is not complete: {error}") from None
    if asked.op == "copy" and not asked.to:
        asked = _suggest_copy(shown, endpoint, asked)
    return msgspec.structs.replace(asked, draft=_find_draft(shown, asked))


def _find_draft(shown: OutlinePage, asked: EndpointChange) -> str:
    """Return the branch of the shown draft; on a live page the submitted branch, or a new one."""
    if shown.draft:
        found = shown.visit.control.outlines.drafts_of(shown.project).find(shown.draft)
        return found.branch if found is not None else asked.draft
    return asked.draft or suggest_draft(shown.visit, shown.project, asked)


def _suggest_copy(
    shown: OutlinePage, endpoint: EndpointOutline, asked: EndpointChange
) -> EndpointChange:
    """Return the change with the first free name; the path of the route gets the same ending."""
    outline = shown.outline
    names = {each.name for each in outline.endpoints} if outline is not None else set[str]()
    endings = ("copy", *(f"copy-{number}" for number in range(2, 1000)))
    ending = next((end for end in endings if f"{endpoint.name}-{end}" not in names), "copy")
    path = f"{_own_path(shown, endpoint).rstrip('/')}/{ending}"
    return msgspec.structs.replace(asked, to=f"{endpoint.name}-{ending}", path=path)


def _own_path(shown: OutlinePage, endpoint: EndpointOutline) -> str:
    """Return the path of an endpoint without the base path of its channel."""
    channels = shown.outline.channels if shown.outline is not None else ()
    base = next((each.base_path for each in channels if each.name == endpoint.channel), "")
    return endpoint.path.removeprefix(base.rstrip("/")) or "/"


ROUTES = (change_by_page,)
