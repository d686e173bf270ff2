"""A browser as tests need one: it keeps cookies by name and path, and says where a page is from."""

from __future__ import annotations

from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any

import msgspec

from bbops.compiler.testing.client import Client

SAME = {"sec-fetch-site": "same-origin"}


@dataclass(frozen=True, slots=True)
class Seen:
    """An answer, with each of its headers."""

    status: int
    json: Any
    headers: list[tuple[str, str]]
    cookies: dict[str, list[Any]]

    def header(self, wanted: str) -> str | None:
        return next((value for name, value in self.headers if name == wanted), None)


@dataclass
class Browser:
    """One person's browser; `cookies` by (name, path)."""

    client: Client
    cookies: dict[tuple[str, str], str] = field(default_factory=dict)
    root: str = ""

    def cookie(self, name: str) -> str | None:
        """Return the value of a cookie, wherever it is sent to."""
        return next((text for (key, _), text in self.cookies.items() if key == name), None)

    async def ask(
        self, method: str, path: str, body: Any = None, *,
        headers: dict[str, str] | None = None, more: tuple[tuple[str, str], ...] = (),
        csrf: bool = True,
    ) -> Seen:  # fmt: skip
        """Ask as a page of the same origin does, with the cookies of the path."""
        given = dict(SAME if headers is None else headers)
        sent = self._sent(self.root + path.partition("?")[0])
        if csrf and (mark := self.cookie("csrf")) and "x-csrf" not in given:
            given["x-csrf"] = mark
        pairs = [*given.items(), *more] + ([("cookie", "; ".join(sent))] if sent else [])
        return await self._receive(await self._send(method, path, body, pairs))

    def _sent(self, path: str) -> list[str]:
        return [
            f"{name}={value}" for (name, below), value in self.cookies.items()
            if path == below or path.startswith(below.rstrip("/") + "/")
        ]  # fmt: skip

    async def _send(
        self, method: str, path: str, body: Any, pairs: list[tuple[str, str]]
    ) -> list[dict[str, Any]]:
        path, _, query = path.partition("?")
        is_raw = isinstance(body, bytes)
        data = body if is_raw else b"" if body is None else msgspec.json.encode(body)
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(),
            "query_string": query.encode(), "client": ("127.0.0.1", 1), "root_path": self.root,
            "headers": [(b"host", b"app.example.com"),
                        *((k.lower().encode(), v.encode("latin-1")) for k, v in pairs)],
        }  # fmt: skip
        messages: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": data, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            messages.append(message)

        await self.client.release(scope, receive, send)
        return messages

    async def _receive(self, messages: list[dict[str, Any]]) -> Seen:
        start, end = messages
        headers = [(name.decode(), value.decode()) for name, value in start["headers"]]
        found: dict[str, list[Any]] = {}
        for text in [value for name, value in headers if name == "set-cookie"]:
            for name, morsel in SimpleCookie(text).items():
                found.setdefault(name, []).append(morsel)
                key = (name, morsel["path"])
                if morsel["max-age"] == "0":
                    self.cookies.pop(key, None)
                else:
                    self.cookies[key] = morsel.value
        body = msgspec.json.decode(end["body"]) if end["body"] else None
        return Seen(start["status"], body, headers, found)
