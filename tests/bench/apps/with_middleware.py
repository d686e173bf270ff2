"""The insert with Litestar's own features on: tokens, rate limit, CORS, history."""

from __future__ import annotations

from collections import deque
from itertools import count
from typing import Any

from litestar import Litestar, Request, post
from litestar.config.cors import CORSConfig
from litestar.connection import ASGIConnection
from litestar.middleware.rate_limit import RateLimitConfig
from litestar.security.jwt import JWTAuth, Token

from tests.bench.apps.items import Items, NewItem
from tests.bench.project import KEY

CLIENTS = 1_000
"""Its limiter keeps a list of times per client and minute: one client alone would fill it."""


class User(dict[str, str]):
    """Who the token belongs to."""


def make_app(items: Items) -> Litestar:
    """Return the application."""
    history: deque[tuple[str, str]] = deque(maxlen=10_000)
    numbers = count()

    async def find_user(token: Token, _: ASGIConnection[Any, Any, Any, Any]) -> User:
        return User(id=token.sub)

    async def remember(request: Request[Any, Any, Any]) -> None:
        history.append((request.method, request.url.path))

    @post("/api/signed/items")
    async def add(request: Request[User, Token, Any], data: NewItem) -> dict[str, Any]:
        return items.add(request.user["id"], data)

    limit = RateLimitConfig(
        rate_limit=("minute", 1_000_000),
        identifier_for_request=lambda _: str(next(numbers) % CLIENTS),
    )
    auth = JWTAuth[User](retrieve_user_handler=find_user, token_secret=KEY)
    return Litestar(
        [add],
        on_app_init=[auth.on_app_init],
        middleware=[limit.middleware],
        cors_config=CORSConfig(allow_origins=["https://example.com"]),
        after_response=remember,
        openapi_config=None,
        logging_config=None,
    )
