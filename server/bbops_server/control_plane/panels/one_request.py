"""The page of one request: its failure with file and line, its input and output, as recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from litestar import Response
from litestar.exceptions import HTTPException, NotFoundException
from litestar.params import FromPath

from bbops.base.errors import BbopsError
from bbops.review.outline.outline import Outline
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.playground.results import TraceSpan, TraceView, view_trace
from bbops_server.control_plane.projects.requests import find_request
from bbops_server.control_plane.projects.shell_commands import find_gaps, write_curl
from bbops_server.control_plane.web.frame import asked_draft
from bbops_server.control_plane.web.outline_page import OutlineLinks
from bbops_server.control_plane.web.routes import page
from bbops_server.control_plane.web.visit import Here, Visit

_WITHOUT_TEXTS: Final = {"query": [], "headers": {}, "input": "", "output": "", "type": ""}


@page("/projects/{name:str}/requests/{number:int}", Permission.READ_REQUESTS)
async def show_request(visit: Here, name: FromPath[str], number: FromPath[int]) -> Response[Any]:
    """Show a request of a project, or of a draft with `?in=SLUG`."""
    slug = asked_draft(visit)
    found = await find_request(visit, name, number, slug)
    request, recorded = found.request, found.request["exchange"]
    exchange = _WITHOUT_TEXTS | recorded if recorded else {}
    return visit.page(
        "request", project=name, draft=slug, found=found, recorded=request, exchange=exchange,
        input=pretty(exchange.get("input", "")), output=pretty(exchange.get("output", "")),
        user=write_user(request["user"]), curl=write_curl(request, _find_url(visit, name, slug)),
        gaps=[*find_gaps(request)], base=f"/projects/{name}/requests",
        link=OutlineLinks(name, slug),
        trace=await _view_trace(visit, request, OutlineLinks(name, slug)),
    )  # fmt: skip


async def _view_trace(
    visit: Visit, request: Mapping[str, Any], links: OutlineLinks
) -> TraceView | None:
    """Return the trace of a request; None without one.

    Its steps have titles if its release is the newest one; otherwise their lines may have moved.
    """
    if not request.get("spans"):
        return None
    outline: Outline | None = None
    with suppress(BbopsError, HTTPException):
        found = await visit.control.outlines.find(links.project, links.draft)
        is_newest = bool(request["release"]) and found.commit.startswith(request["release"])
        outline = found.outline if is_newest else None
    return view_trace([TraceSpan(*span) for span in request["spans"]], outline, links)


def pretty(text: str) -> str:
    """Return JSON with line breaks; other texts, and the start of a long one, as they are."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def write_user(user: Any) -> str:
    """Return the signed-in user of a request as text; empty without one."""
    return "" if user is None else user if isinstance(user, str) else json.dumps(user, default=str)


def _find_url(visit: Visit, name: str, slug: str) -> str:
    """Return the public URL of a project or draft."""
    drafts = visit.control.status.drafts(name)
    if slug and drafts is not None and (draft := drafts.find(slug)) is not None:
        return draft.url
    status = visit.control.project(name)
    if status is None:
        raise NotFoundException(f"there is no project '{name}'")
    return status.url


ROUTES = (show_request,)
