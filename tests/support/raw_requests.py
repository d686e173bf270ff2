"""What tests of requests share: routes in one line each, tokens, requests as raw as they come."""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import jwt
import msgspec

from bbops.compiler.testing.client import Client
from tests.conftest import ENV, Files, Serving, run, sample, with_function

Ask = Callable[..., Any]
KEY = ENV["JWT_SECRET"]
NOW = 1767323045  # the still clock's 2026-01-02T03:04:05Z

INPUT = """
input:
  text: string
  number: integer
  list: integer[]
  map: { fields: { a: integer } }
  json?: json
"""
SENT = {"text": "x" * 900_000, "number": 2**62, "list": [1], "map": {"a": 1}, "json": {"a": [1]}}


def returning(expression: str) -> dict[str, str]:
    quoted = "${ " + expression + " }"
    return with_function(f"{INPUT}steps:\n  - return:\n      value: |-\n        {quoted}\n")


def routes(*lines: str, channel: str = "", **functions: str) -> Files:
    """Return the sample with endpoints written as `GET /path function authentication`."""
    files = sample(**{f"functions__{name}": text for name, text in functions.items()})
    if channel:
        files["channels/api.yaml"] = channel
    for number, line in enumerate(lines):
        method, path, function, authentication = line.split()
        text = f"method: {method}\npath: {path}\nfunction: {function}\n"
        text += "channel: api\n" if channel else ""
        text += f"authentication: {authentication}\n" if authentication != "-" else ""
        files[f"endpoints/e{number}.yaml"] = text
    return files


def talk(serving: Serving, files: Files, tell: Callable[[Client], Awaitable[Any]]) -> Any:
    """Serve a project and tell a story to it."""

    async def whole() -> Any:
        async with serving(files) as client:
            return await tell(client)

    return run(whole())


def token(key: str = KEY, algorithm: str | None = "HS256", **change: Any) -> dict[str, str]:
    claims = {"sub": "u1", "exp": NOW + 60, "role": "admin", "team": 7} | change
    with warnings.catch_warnings(action="ignore"):  # keys that are too short on purpose
        return {"authorization": f"Bearer {jwt.encode(claims, key, algorithm)}"}


async def raw_ask(
    client: Client, method: str, path: str, *,
    headers: list[tuple[str, str]] = [],  # noqa: B006 - never changed
    parts: list[bytes] = [b""],  # noqa: B006 - never changed
    leaves: bool = False,
) -> tuple[int, Mapping[bytes, bytes], Any]:  # fmt: skip
    """Ask with headers and pieces of a body exactly as given; 0 is no answer."""
    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(),
        "query_string": b"", "client": None,
        "headers": [(k.lower().encode(), v.encode("utf-8")) for k, v in headers],
    }  # fmt: skip
    messages: list[dict[str, Any]] = [
        {"type": "http.request", "body": part, "more_body": leaves or at < len(parts) - 1}
        for at, part in enumerate(parts)
    ]
    messages.append({"type": "http.disconnect"})
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return messages.pop(0)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await client.release(scope, receive, send)
    if not sent:
        return 0, {}, None
    start, end = sent
    body = msgspec.json.decode(end["body"]) if end["body"] else None
    return start["status"], dict(start["headers"]), body
