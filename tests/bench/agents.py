"""What a call of a tool costs the control plane, without a network, in CPU time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import msgspec

from bbops_server.accounts.rules import GrantScope, Role
from tests.bench.figures import Figure
from tests.support.agents import HEADERS, MCP, NEWEST, call_of, give
from tests.support.control import Tried

MOST_MILLISECONDS = 2.0
HOST = (b"host", b"127.0.0.1:8001")


def measure(folder: Path, *, calls: int, rounds: int) -> list[Figure]:
    """Call a tool again and again in both protocols, by a grant."""
    folder.mkdir()
    with closing(Tried(folder)) as tried:
        tried.add("ada@example.com", Role.OWNER)
        token = give(tried, "ada@example.com", GrantScope.PROJECT)
        return [
            _figure(tried, token, version, calls=calls, rounds=rounds)
            for version in ("2025-11-25", NEWEST)
        ]


def _figure(tried: Tried, token: str, version: str, *, calls: int, rounds: int) -> Figure:
    params, more = call_of("project_list", {}, version)
    headers = HEADERS | more | {"authorization": f"Bearer {token}"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    body = msgspec.json.encode(message)
    asyncio.run(_call(tried.app, headers, body, 10))  # the first one imports the protocol
    times = [asyncio.run(_call(tried.app, headers, body, calls)) for _ in range(rounds)]
    name = f"a call of a tool, protocol {version}"
    return Figure(name, 1_000 * median(times), "ms", MOST_MILLISECONDS)


async def _call(app: Any, headers: Mapping[str, str], body: bytes, count: int) -> float:
    """Return the seconds of CPU of one call."""
    fields = [(name.encode(), text.encode()) for name, text in headers.items()]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST",
        "scheme": "http", "path": "/mcp", "raw_path": b"/mcp", "query_string": b"",
        "root_path": "", "headers": [HOST, *fields], "server": ("127.0.0.1", 8001),
        "client": ("127.0.0.1", 1),
    }  # fmt: skip
    began = process_time()
    for _ in range(count):
        assert await asyncio.create_task(_ask(app, dict(scope), body)) == 200, MCP
    return (process_time() - began) / count


async def _ask(app: Any, scope: dict[str, Any], body: bytes) -> int:
    parts: list[dict[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]
    found: list[int] = []

    async def receive() -> dict[str, Any]:
        if parts:
            return parts.pop()
        await asyncio.sleep(60)
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            found.append(message["status"])

    await app(scope, receive, send)
    return found[0]
