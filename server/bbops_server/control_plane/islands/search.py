"""Search as a page and for programs: pages, actions, resources, drafts, proposals, members."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any, Final

from litestar import Response
from litestar.exceptions import HTTPException
from litestar.params import FromPath, QueryParameter

from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.reference import list_prose
from bbops_server.control_plane.projects.visited_project import PROJECT
from bbops_server.control_plane.proposals.pulls import list_open_pulls
from bbops_server.control_plane.proposals.review import VisitedProposals
from bbops_server.control_plane.web.frame import asked_draft
from bbops_server.control_plane.web.outline_page import OutlineLinks
from bbops_server.control_plane.web.routes import page, read
from bbops_server.control_plane.web.search import (
    MAX_ENTRIES,
    SearchEntry,
    SearchResult,
    list_pages,
    list_resources,
    list_server_entries,
    rank_entries,
)
from bbops_server.control_plane.web.visit import Here, Visit

SHOWN: Final = 100
Words = Annotated[str, QueryParameter(name="q", max_length=200)]
Limit = Annotated[int, QueryParameter(ge=1, le=MAX_ENTRIES)]


@page("/search", Permission.KNOW_ONESELF)
async def search_server_by_page(visit: Here, words: Words = "") -> Response[Any]:
    """Show the projects and pages of the server that match the words of the URL."""
    result = rank_entries(list_server_entries(visit), words, SHOWN)
    return visit.page("search", project="", result=result, words=words, draft="")


@page("/projects/{name:str}/search", Permission.READ_PROJECT)
async def search_by_page(visit: Here, name: FromPath[str], words: Words = "") -> Response[Any]:
    """Show the pages and resources of a project that match the words of the URL."""
    result = rank_entries(await _list_entries(visit, name, asked_draft(visit)), words, SHOWN)
    return visit.page(
        "search", project=name, result=result, words=words, draft=asked_draft(visit)
    )  # fmt: skip


@read("/api/search", Permission.KNOW_ONESELF)
async def search_server(visit: Here, words: Words = "", limit: Limit = MAX_ENTRIES) -> SearchResult:
    """The projects and pages of the server that match each word of `q`, the best first."""
    return rank_entries(list_server_entries(visit), words, limit)


@read(f"{PROJECT}/search", Permission.READ_PROJECT)
async def search(
    visit: Here, name: FromPath[str], words: Words = "", limit: Limit = MAX_ENTRIES,
    draft: Annotated[str, QueryParameter(name="in", max_length=400)] = "",
) -> SearchResult:  # fmt: skip
    """The pages, resources, drafts and proposals that match each word of `q`, the best first.

    `in` is the slug of a draft, whose resources are searched instead of the live ones.
    """
    return rank_entries(await _list_entries(visit, name, draft), words, limit)


async def _list_entries(visit: Visit, name: str, draft: str) -> list[SearchEntry]:
    found = await visit.control.outlines.find(name, draft)
    pages = list_pages(visit, name, visit.request.app.state.panels, draft)
    resources = list_resources(found.outline, OutlineLinks(name, draft)) if found.outline else ()
    proposals, docs, members = await asyncio.gather(
        _list_proposals(visit, name), _list_docs(visit, name), _list_members(visit)
    )
    shipped = [*_list_drafts(visit, name), *proposals, *docs, *members]
    return [*pages, *resources, *shipped, *list_server_entries(visit)]


async def _list_docs(visit: Visit, name: str) -> list[SearchEntry]:
    """Return the pages of the folder `docs` of the live release; none without one."""
    with suppress(HTTPException):
        return [
            SearchEntry(page, "docs", OutlineLinks(name).to("pages", name=page))
            for page in await list_prose(visit, name)
        ]
    return []


async def _list_members(visit: Visit) -> list[SearchEntry]:
    """Return the members, for callers who may read them."""
    if not visit.may(Permission.READ_PEOPLE):
        return []
    people = await visit.control.run(visit.book.people.list)
    return [
        SearchEntry(person.name or person.email, "member", f"/people#{person.id}", person.email)
        for person in people
    ]  # fmt: skip


def _list_drafts(visit: Visit, name: str) -> Iterator[SearchEntry]:
    drafts = visit.control.status.drafts(name)
    for draft in drafts.list() if drafts is not None else ():
        yield SearchEntry(draft.branch, "draft", OutlineLinks(name, draft.slug).to("endpoints"))


async def _list_proposals(visit: Visit, name: str) -> list[SearchEntry]:
    """Return the open proposals, or the open pull requests on the project's forge."""
    if pulls := list_open_pulls(visit, name):
        page = OutlineLinks(name).to("proposals")
        return [
            SearchEntry(f"#{pull.number} {pull.title}", "pull request", page, pull.author)
            for pull in pulls
        ]
    try:
        proposals = await VisitedProposals(visit, name).list_all("open")
    except HTTPException:
        return []
    links = OutlineLinks(name)
    return [
        SearchEntry(
            f"#{each.number} {each.title or 'without a title'}", "proposal",
            links.to(f"proposals/{each.number}"), each.author,
        )
        for each in proposals
    ]  # fmt: skip


ROUTES = (search_server_by_page, search_by_page, search_server, search)
