"""docs_search: sections of the documentation by words."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec

from bbops.interfaces.mcp.search import Hit, search
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolParams, ToolResult
from bbops_server.mcp.public_context import PublicContext


class Query(ToolParams, frozen=True):
    """A query for the documentation."""

    query: Annotated[
        str, msgspec.Meta(description="a few words, such as 'cursor paging'", max_length=200)
    ]
    limit: Annotated[int, msgspec.Meta(ge=1, le=20)] = 5


class FoundSection(msgspec.Struct, frozen=True):
    """A section. `url` is the address of its page as Markdown, with the section's anchor."""

    page: str
    section: str
    snippet: str
    url: str


class Sections(ToolResult, frozen=True):
    """Matching sections, best first; empty if none match."""

    results: list[FoundSection]


async def find(at: PublicContext, wanted: Query) -> Sections:
    """Find sections."""
    hits = await asyncio.to_thread(search, wanted.query, wanted.limit)
    following = [] if hits else [NextCall("platform_help", why="find all documentation")]
    return Sections(results=[_show(at, hit) for hit in hits], next=following)


def _show(at: PublicContext, hit: Hit) -> FoundSection:
    url = at.link(f"/docs/{hit.page}#{hit.anchor}")
    return FoundSection(hit.title, hit.heading, hit.snippet, url)


TOOL = McpTool(
    "docs_search",
    "Search the documentation",
    "Searches the documentation of the language and the server; short, focused queries work best.",
    Query,
    Sections,
    find,
    scope="",
)
