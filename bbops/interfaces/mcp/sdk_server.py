"""Serve tools with the MCP SDK, over HTTP or stdio."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

import anyio
import mcp_types as types
import msgspec
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

import bbops
from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.tool import Backend, McpTool, ToolError, call, find_tool, find_tools

_log = logging.getLogger(__name__)
_CACHE_HINT: Final = CacheHint(ttl_ms=3_600_000, scope="public")
_UNEXPECTED: Final = "internal error; see the server's log"

FindBackend = Callable[[McpTool[Backend]], Backend]
"""Returns the backend for the current caller; raises Refused if the caller may not use the tool."""

_Context = ServerRequestContext[Any, Any]


def create_server(
    name: str,
    instructions: str,
    tools: Mapping[str, McpTool[Backend]],
    find_backend: FindBackend[Backend],
) -> Server[Any]:
    """Return an MCP server with a fixed set of tools.

    Args:
        name: the name of the server for clients.
        instructions: the introduction that an agent reads first.
        tools: the tools by name, from `find_tools`.
        place_of: called for each call, in the task of the call.
    """
    listed = types.ListToolsResult(tools=[_describe(tool) for tool in tools.values()])
    schemas = {name: tool.input_schema for name, tool in tools.items()}

    async def list_tools(_: _Context, __: Any) -> types.ListToolsResult:
        return listed

    async def call_tool(_: _Context, request: types.CallToolRequestParams) -> types.CallToolResult:
        tool = _find(tools, request.name)
        try:
            return _succeed(await call(tool, find_backend(tool), request.arguments or {}))
        except ToolError as refused:
            return _fail(_explain(refused))
        except Exception:  # noqa: BLE001 - it is logged, and not shown to the agent
            _log.exception("tool %s failed", tool.name)
            return _fail(_UNEXPECTED)

    server: Server[Any] = Server(
        name, version=bbops.__version__, instructions=instructions,
        cache_hints={"tools/list": _CACHE_HINT}, get_tool_input_schema=schemas.get,
        on_list_tools=list_tools, on_call_tool=call_tool,
    )  # fmt: skip
    server.middleware.clear()  # telemetry is not used
    return server


def _find(tools: Mapping[str, McpTool[Backend]], name: str) -> McpTool[Backend]:
    try:
        return find_tool(tools, name)
    except ToolError as refused:
        raise MCPError(types.INVALID_PARAMS, _explain(refused)) from None


def _describe(tool: McpTool[Any]) -> types.Tool:
    hints = types.ToolAnnotations(
        read_only_hint=tool.hints.reads_only, destructive_hint=tool.hints.destroys,
        idempotent_hint=tool.hints.is_idempotent, open_world_hint=tool.hints.reaches_out,
    )  # fmt: skip
    return types.Tool(
        name=tool.name, title=tool.title, description=tool.description, annotations=hints,
        input_schema=tool.input_schema, output_schema=tool.output_schema,
        meta={"bbops/scope": tool.scope, "bbops/category": tool.category},
    )  # fmt: skip


def _succeed(result: dict[str, Any]) -> types.CallToolResult:
    """Return a result twice: some clients only show its structure, others only its text."""
    text = types.TextContent(text=msgspec.json.encode(result).decode())
    return types.CallToolResult(content=[text], structured_content=result)


def _fail(message: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=message)], is_error=True)


def _explain(error: ToolError) -> str:
    lines = [error.message]
    if error.hint:
        lines.append(f"hint: {error.hint}")
    for next_call in error.next:
        arguments = msgspec.json.encode(next_call.arguments).decode()
        reason = f": {next_call.why}" if next_call.why else ""
        lines.append(f"next: {next_call.tool} {arguments}{reason}")
    return "\n".join(lines)


# ---- Serve an agent over standard input and output; the agent's client has started the process

INSTRUCTIONS: Final = (
    "One bbops project in a git checkout. Call context_get first. Then: read what you change,"
    " preview it, apply the plan to a draft, validate. A draft is a local branch; pull requests and"
    " publishing are a server's, and a refused tool names the command to use instead."
)


def serve(backend: ProjectBackend) -> None:
    """Serve until the input ends; the log goes to standard error."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    anyio.run(_serve, backend)


async def _serve(backend: ProjectBackend) -> None:
    tools = find_tools("bbops.interfaces.mcp.project")
    server = create_server("bbops", INSTRUCTIONS, tools, lambda _: backend)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())
