"""An MCP server of the official package, on loopback: tools that a test may change."""

from __future__ import annotations

import threading
from typing import Any, Self

import uvicorn
from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel

START_SECONDS = 60


class Ticket(BaseModel):
    """What a tool gives."""

    id: int
    title: str


class Tools:
    """A server with three tools, of which one can be told to mean something else."""

    def __init__(self, *, as_json: bool = False, words: str = "Find a ticket") -> None:
        server = MCPServer("desk")
        self.calls = list[Any]()

        @server.tool(name="find_ticket", description=words)
        def find(text: str, most: int = 3) -> Ticket:
            self.calls.append((text, most))
            return Ticket(id=most, title=text)

        @server.tool(name="say", description="Say it")
        def say(text: str) -> str:
            return f"you said {text}"

        @server.tool(name="fail", description="Fail")
        def fail() -> str:
            raise ValueError("no such ticket")

        app = server.streamable_http_app(json_response=as_json)
        config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", ws="none")
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)

    @property
    def url(self) -> str:
        """Where it answers."""
        (socket,) = self.server.servers[0].sockets
        return f"http://127.0.0.1:{socket.getsockname()[1]}/mcp"

    def __enter__(self) -> Self:
        self.thread.start()
        waiting = threading.Event()
        for _ in range(START_SECONDS * 50):
            if self.server.started:
                return self
            waiting.wait(0.02)
        raise TimeoutError("the MCP server did not start")

    def __exit__(self, *_: object) -> None:
        self.server.should_exit = True
        self.thread.join(START_SECONDS)
