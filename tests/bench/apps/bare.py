"""The API as one ASGI callable: the floor. Nothing but the four requests that are measured."""

from __future__ import annotations

import time
from typing import Any

import jwt
import msgspec

from tests.bench.apps.items import HELLO, Items, NewItem
from tests.bench.project import KEY

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(NewItem).decode
_JSON = (b"content-type", b"application/json")


class Bare:
    """Answers by comparing paths; a verified token is remembered until it expires."""

    def __init__(self, items: Items) -> None:
        self.items = items
        self.verified: dict[bytes, dict[str, Any]] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        status, value = await self.answer(scope, receive)
        body = _encode(value)
        headers = [_JSON, (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def answer(self, scope: Any, receive: Any) -> tuple[int, Any]:
        path = scope["path"]
        if scope["method"] == "GET":
            if path == "/api/hello":
                return 200, HELLO
            item = self.items.find(int(path.removeprefix("/api/items/")))
            return (404, {}) if item is None else (200, item)
        owner = "nobody" if path == "/api/items" else self.user(scope)
        if owner is None:
            return 401, {}
        body = (await receive())["body"]
        try:
            return 201, self.items.add(owner, _decode(body))
        except msgspec.ValidationError as error:
            return 400, {"error": str(error)}

    def user(self, scope: Any) -> str | None:
        for name, value in scope["headers"]:
            if name == b"authorization":
                known = self.verified.get(value)
                if known is None:
                    known = jwt.decode(value[7:], KEY, algorithms=["HS256"])
                    self.verified[value] = known
                return str(known["sub"]) if known["exp"] > time.time() else None
        return None
