"""The requests that are measured, as any HTTP client would send them."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass

import jwt

from tests.bench.apps.items import FILLED_ROWS
from tests.bench.project import KEY

_HOST = ("host", "127.0.0.1")
_JSON = ("content-type", "application/json")
_NEW = json.dumps({"title": "a new item", "quantity": 7})


@dataclass(frozen=True, slots=True)
class Shot:
    """Requests of one kind that are sent in turn; every answer has the same status."""

    name: str
    method: str
    paths: Sequence[str]
    headers: Sequence[tuple[str, str]]
    body: str
    status: int

    def render(self) -> list[bytes]:
        """Return every request as bytes."""
        headers = [_HOST, *self.headers]
        if self.body:
            headers.append(("content-length", str(len(self.body))))
        head = "".join(f"{name}: {value}\r\n" for name, value in headers)
        return [
            f"{self.method} {path} HTTP/1.1\r\n{head}\r\n{self.body}".encode()
            for path in self.paths
        ]


def token() -> str:
    """Return a token that every server takes."""
    now = int(time.time())
    claims = {"sub": "ada", "iat": now, "exp": now + 86_400}
    return jwt.encode(claims, KEY, algorithm="HS256")


def _ids() -> list[str]:
    # 7919 is prime: every id comes once, in no order that helps a cache of pages
    return [f"/api/items/{1 + at * 7919 % FILLED_ROWS}" for at in range(FILLED_ROWS)]


HELLO = Shot("hello", "GET", ("/api/hello",), (), "", 200)
NOTES = Shot("notes", "GET", ("/api/notes",), (), "", 200)
ITEM = Shot("item", "GET", tuple(_ids()), (), "", 200)
ADD = Shot("add", "POST", ("/api/items",), (_JSON,), _NEW, 201)


def signed() -> Shot:
    """Return the insert with a token, from a page of another origin."""
    origin = ("origin", "https://example.com")
    headers = (_JSON, origin, ("authorization", f"Bearer {token()}"))
    return Shot("add signed", "POST", ("/api/signed/items",), headers, _NEW, 201)
