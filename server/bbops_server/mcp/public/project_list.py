"""project_list: the projects that the caller has access to."""

from __future__ import annotations

import msgspec

from bbops.interfaces.answers import Status
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolResult
from bbops_server.accounts.rules import role_in
from bbops_server.mcp.public._takes import Nothing
from bbops_server.mcp.public_context import PublicContext


class Line(msgspec.Struct, frozen=True, rename="camel"):
    """A project. `url` is the address of its API, not of its MCP server."""

    project_id: str
    url: str
    role: str
    ready: bool
    revision: str | None


class Projects(ToolResult, frozen=True):
    """The projects in which the caller has a role."""

    projects: list[Line]


async def show(at: PublicContext, _: Nothing) -> Projects:
    """List the projects."""
    found = at.projects()
    if not found:
        create = NextCall("project_create", {"name": "my-backend"}, "shows how to create one")
        return Projects(projects=[], next=[create])
    choose = [NextCall("project_select", {"projectId": status.name}) for status in found[:2]]
    return Projects(projects=[_line(at, status) for status in found], next=choose)


def _line(at: PublicContext, status: Status) -> Line:
    role = role_in(at.caller, status.name)
    return Line(status.name, status.url, role or "", status.is_ready, status.applied_revision)


TOOL = McpTool(
    "project_list",
    "Projects",
    "Lists the projects that the signed-in person has access to, with their role.",
    Nothing,
    Projects,
    show,
)
