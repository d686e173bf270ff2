"""Serve an agent over standard input and output; the agent's client has started the process."""

from __future__ import annotations

import logging
import sys
from typing import Final

import anyio
from mcp.server.stdio import stdio_server

from bbops.interfaces.mcp.project_backend import ProjectBackend
from bbops.interfaces.mcp.sdk_server import create_server
from bbops.interfaces.mcp.tool import find_tools

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
