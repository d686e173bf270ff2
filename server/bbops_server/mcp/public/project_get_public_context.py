"""project_get_public_context: a summary of a project that is safe to show to anyone."""

from __future__ import annotations

from typing import Any

import msgspec

from bbops.base.errors import BbopsError
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolResult
from bbops_server.mcp.public._takes import Chosen
from bbops_server.mcp.public_context import PublicContext

MOST_ROUTES = 100


class Route(msgspec.Struct, frozen=True, rename="camel"):
    """A route; `is_open` if it needs no sign-in."""

    method: str
    path: str
    description: str
    is_open: bool


class _Contract(msgspec.Struct, frozen=True):
    """The used members of a contract."""

    description: str = ""
    operations: list[Any] = []


class Context(ToolResult, frozen=True):
    """The routes and the status of a project, without rows, names of people or settings."""

    project_id: str
    url: str
    description: str
    revision: str | None
    version: str | None
    ready: bool
    routes: list[Route]
    route_count: int


async def show(at: PublicContext, chosen: Chosen) -> Context:
    """Return the context."""
    found = at.project(chosen.project_id)
    contract = await _read_contract(at, found.name)
    routes = [
        Route(route["method"], route["path"], route["description"], route["is_open"])
        for route in contract.operations
    ]
    return Context(
        project_id=found.name, url=found.url, description=contract.description,
        revision=found.applied_revision, version=found.version, ready=found.is_ready,
        routes=routes[:MOST_ROUTES], route_count=len(routes),
        next=[NextCall("project_select", {"projectId": found.name}, "to work on it")],
    )  # fmt: skip


async def _read_contract(at: PublicContext, name: str) -> _Contract:
    try:
        written = await at.status.contract(name, "json")
    except BbopsError:  # nothing is live yet
        return _Contract()
    return msgspec.json.decode(written.text, type=_Contract) if written else _Contract()


TOOL = McpTool(
    "project_get_public_context",
    "What a project is",
    "A project's URL, status and public routes; safe to show to anyone.",
    Chosen,
    Context,
    show,
)
