"""project_get_mcp_manifest: all that a client has to know of one project's MCP server."""

from __future__ import annotations

import msgspec

from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolResult
from bbops_server.accounts.rules import GrantScope
from bbops_server.mcp.oauth.endpoints import METADATA
from bbops_server.mcp.public._takes import Chosen
from bbops_server.mcp.public_context import PublicContext
from bbops_server.mcp.servers import PROJECT, PROTOCOLS, tools_of


class SignIn(msgspec.Struct, frozen=True, rename="camel"):
    """How a client signs in: by OAuth, found from the document; never by a token in a file."""

    type: str
    metadata_url: str
    scopes: list[str]


class Manifest(ToolResult, frozen=True):
    """The address is used as it is: none is made from a name or a pattern."""

    project_id: str
    mcp_url: str
    transport: str
    protocol_versions: list[str]
    sign_in: SignIn
    tools: list[str]
    first_call: str


async def show(at: PublicContext, chosen: Chosen) -> Manifest:
    """Show it."""
    found = at.project(chosen.project_id)
    url = await at.mcp_url(found.name)
    path = METADATA + url.removeprefix(at.settings.control_url)
    return Manifest(
        project_id=found.name, mcp_url=url, transport="streamable-http",
        protocol_versions=list(PROTOCOLS),
        sign_in=SignIn("oauth2", at.link(path), [one.value for one in GrantScope]),
        tools=list(tools_of(PROJECT)), first_call="context_get",
        next=[NextCall("project_connect", {"projectId": found.name}, "binds this workspace to it")],
    )  # fmt: skip


TOOL = McpTool(
    "project_get_mcp_manifest",
    "How a project's server is installed",
    "Address, transport, sign-in, protocols and tools of one project's MCP server.",
    Chosen,
    Manifest,
    show,
)
