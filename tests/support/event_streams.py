"""Server-sent events of the control plane, read inside of the process of a test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from tests.support.control import Tried
from tests.support.patience import eventually

Event = tuple[str, Any]
"""The kind of an event, and its data."""


class EventStream:
    """A response that lasts; `text` is its body so far."""

    def __init__(self) -> None:
        self.status, self.text = 0, ""
        self.headers: dict[str, str] = {}
        self.is_finished = False
        self._ended = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        """Wait until the client leaves."""
        await self._ended.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        """Take a part of the response."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            return
        self.text += message.get("body", b"").decode()
        self.is_finished = not message.get("more_body", False)

    def leave(self) -> None:
        """Close the connection."""
        self._ended.set()

    @property
    def events(self) -> list[Event]:
        """The events so far."""
        blocks = (block.split("\n") for block in self.text.split("\n\n"))
        fields = (dict(line.split(": ", 1) for line in block if ": " in line) for block in blocks)
        return [
            (each["event"], msgspec.json.decode(each["data"])) for each in fields if "event" in each
        ]

    def rows(self) -> list[int]:
        """Return the ids of the requests so far."""
        found = [
            row["id"] for kind, data in self.events if kind == "requests" for row in data["rows"]
        ]
        return sorted({*found})


@asynccontextmanager
async def open_stream(
    tried: Tried, query: str, person: str = "ada@example.com", **headers: str
) -> AsyncIterator[EventStream]:
    """Open the stream of the project, signed in as a person."""
    key = tried.as_person(person).cookies["bbops"]
    given = {"host": "127.0.0.1:8001", "cookie": f"bbops={key}", **headers}
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET",
        "scheme": "http", "path": "/api/projects/small/stream", "root_path": "",
        "raw_path": b"/api/projects/small/stream", "query_string": query.encode(),
        "headers": [(k.replace("_", "-").encode(), v.encode()) for k, v in given.items()],
        "server": ("127.0.0.1", 8001), "client": ("127.0.0.1", 50_000), "state": {},
    }  # fmt: skip
    stream = EventStream()
    app: Any = tried.app
    task = asyncio.create_task(app(scope, stream.receive, stream.send))
    try:
        await eventually(lambda: stream.status)
        yield stream
    finally:
        stream.leave()
        await task
