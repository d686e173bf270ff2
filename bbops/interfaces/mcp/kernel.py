"""Say tools in the protocol: the SDK's server over any family of them, for HTTP and stdio alike."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

import mcp_types as types
import msgspec
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

import bbops
from bbops.interfaces.mcp.tool import Place, Refused, Tool, call, find_tool

_log = logging.getLogger(__name__)
_LASTS: Final = CacheHint(ttl_ms=3_600_000, scope="public")
_UNEXPECTED: Final = "internal error; see the server's log"

PlaceOf = Callable[[Tool[Place]], Place]
"""Finds where a tool works for whoever asks now; raises Refused where they may not call it."""

_Context = ServerRequestContext[Any, Any]


def create_server(
    name: str, instructions: str, tools: Mapping[str, Tool[Place]], place_of: PlaceOf[Place]
) -> Server[Any]:
    """Return a server of tools that are the same for everybody.

    Args:
        name: what clients call it.
        instructions: what an agent reads first.
        tools: by name, as `find_tools` gives them.
        place_of: asked at each call, in the task that answers it.
    """
    listed = types.ListToolsResult(tools=[_describe(tool) for tool in tools.values()])
    schemas = {name: tool.input_schema for name, tool in tools.items()}

    async def list_tools(_: _Context, __: Any) -> types.ListToolsResult:
        return listed

    async def call_tool(_: _Context, asked: types.CallToolRequestParams) -> types.CallToolResult:
        tool = _find(tools, asked.name)
        try:
            return _succeed(await call(tool, place_of(tool), asked.arguments or {}))
        except Refused as refused:
            return _fail(_explain(refused))
        except Exception:  # noqa: BLE001 - it is logged, and nothing of it is told
            _log.exception("tool %s failed", tool.name)
            return _fail(_UNEXPECTED)

    server: Server[Any] = Server(
        name, version=bbops.__version__, instructions=instructions,
        cache_hints={"tools/list": _LASTS}, get_tool_input_schema=schemas.get,
        on_list_tools=list_tools, on_call_tool=call_tool,
    )  # fmt: skip
    server.middleware.clear()  # of telemetry, which nobody listens to
    return server


def _find(tools: Mapping[str, Tool[Place]], name: str) -> Tool[Place]:
    try:
        return find_tool(tools, name)
    except Refused as refused:
        raise MCPError(types.INVALID_PARAMS, _explain(refused)) from None


def _describe(tool: Tool[Any]) -> types.Tool:
    hints = types.ToolAnnotations(
        read_only_hint=tool.hints.reads_only, destructive_hint=tool.hints.destroys,
        idempotent_hint=tool.hints.is_idempotent, open_world_hint=tool.hints.reaches_out,
    )  # fmt: skip
    return types.Tool(
        name=tool.name, title=tool.title, description=tool.description, annotations=hints,
        input_schema=tool.input_schema, output_schema=tool.output_schema,
        meta={"bbops/scope": tool.scope, "bbops/category": tool.category},
    )  # fmt: skip


def _succeed(given: dict[str, Any]) -> types.CallToolResult:
    """Return a result twice: some clients show only its structure, others only its text."""
    text = types.TextContent(text=msgspec.json.encode(given).decode())
    return types.CallToolResult(content=[text], structured_content=given)


def _fail(said: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=said)], is_error=True)


def _explain(refused: Refused) -> str:
    lines = [refused.message]
    if refused.hint:
        lines.append(f"hint: {refused.hint}")
    for one in refused.next:
        arguments = msgspec.json.encode(one.arguments).decode()
        lines.append(f"next: {one.tool} {arguments}" + (f": {one.why}" if one.why else ""))
    return "\n".join(lines)
