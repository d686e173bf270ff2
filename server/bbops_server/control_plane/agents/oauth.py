"""OAuth endpoints that agents call without a user: metadata, registration and tokens.

They ignore cookies, so the guard accepts cross-site requests, which programs in a browser send.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from litestar import Response, get, post
from litestar.exceptions import NotFoundException
from litestar.params import FromPath

from bbops_server.control_plane.web.routes import HAS_OWN_AUTH
from bbops_server.control_plane.web.state import ControlState
from bbops_server.control_plane.web.visit import AnyRequest, Visit
from bbops_server.mcp.oauth.authlib_request import Answer, Sender
from bbops_server.mcp.oauth.endpoints import METADATA

MAX_METADATA_BYTES: Final = 16 << 10
_PUBLIC: Final = {HAS_OWN_AUTH: True}
_CACHED: Final = {"cache-control": "public, max-age=300"}
_FORWARDED_HEADERS: Final = frozenset({"Location", "Retry-After"})

Endpoint = Callable[[str, Sender], Answer]


@get("/.well-known/oauth-authorization-server", include_in_schema=False, opt=_PUBLIC)
async def describe_server(request: AnyRequest) -> Response[Any]:
    """Return the metadata of the authorization server (RFC 8414)."""
    control = _control(request)
    metadata = control.oauth.endpoints.describe_server(
        reads_documents=control.settings.reads_clients
    )
    return Response(metadata, headers=_CACHED)


@get([METADATA, f"{METADATA}/mcp"], include_in_schema=False, opt=_PUBLIC)
async def describe_resource(request: AnyRequest) -> Response[Any]:
    """Return the metadata of the public MCP server (RFC 9728)."""
    endpoints = _control(request).oauth.endpoints
    return Response(endpoints.describe_resource(endpoints.mcp), headers=_CACHED)


@get(f"{METADATA}/mcp/p/{{key:str}}", include_in_schema=False, opt=_PUBLIC)
async def describe_project(request: AnyRequest, key: FromPath[str]) -> Response[Any]:
    """Return the metadata of a project's MCP server (RFC 9728)."""
    control = _control(request)
    if await control.run(control.book.addresses.project, key) is None:
        raise NotFoundException("MCP server not found")
    endpoints = control.oauth.endpoints
    return Response(endpoints.describe_resource(endpoints.mcp_of(key)), headers=_CACHED)


@post(
    "/oauth/register", include_in_schema=False, opt=_PUBLIC,
    request_max_body_size=MAX_METADATA_BYTES,
)  # fmt: skip
async def register(request: AnyRequest) -> Response[Any]:
    """Register a client (RFC 7591)."""
    endpoint = _control(request).oauth.register
    return send(await asyncio.to_thread(endpoint, await request.body(), _sender(request)))


@post("/oauth/token", include_in_schema=False, opt=_PUBLIC)
async def give_tokens(request: AnyRequest) -> Response[Any]:
    """Issue tokens for an authorization code, a refresh token or a device code."""
    return await _answer(request, _control(request).oauth.give_tokens)


@post("/oauth/revoke", include_in_schema=False, opt=_PUBLIC)
async def revoke(request: AnyRequest) -> Response[Any]:
    """Revoke the grant of a token (RFC 7009)."""
    return await _answer(request, _control(request).oauth.revoke)


@post("/oauth/device_authorization", include_in_schema=False, opt=_PUBLIC)
async def begin_device(request: AnyRequest) -> Response[Any]:
    """Issue a device code and a user code (RFC 8628)."""
    return await _answer(request, _control(request).oauth.begin_device)


def send(answer: Answer) -> Response[Any]:
    """Return the response of the authorization server, with the headers that clients need."""
    headers = {name: text for name, text in answer.headers.items() if name in _FORWARDED_HEADERS}
    return Response(answer.body or None, status_code=answer.status, headers=headers)


async def _answer(request: AnyRequest, endpoint: Endpoint) -> Response[Any]:
    form = (await request.body()).decode(errors="replace")
    return send(await asyncio.to_thread(endpoint, form, _sender(request)))


def _control(request: AnyRequest) -> ControlState:
    control: ControlState = request.app.state.control
    return control


def _sender(request: AnyRequest) -> Sender:
    visit = Visit(request, _control(request))
    return Sender(visit.address, visit.network)


ROUTES = (
    describe_server, describe_resource, describe_project, register, give_tokens, revoke,
    begin_device,
)  # fmt: skip
