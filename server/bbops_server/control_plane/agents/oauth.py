"""What agents' programs ask for without a person: how to sign in, registration, tokens.

No cookie counts here; so the guard lets pages of other sites ask, as programs in a browser must.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from litestar import Response, get, post
from litestar.exceptions import NotFoundException
from litestar.params import FromPath

from bbops_server.control_plane.web.routes import IS_DOOR
from bbops_server.control_plane.web.state import ControlState
from bbops_server.control_plane.web.visit import AnyRequest, Visit
from bbops_server.mcp.oauth.authlib_request import Answer, Sender
from bbops_server.mcp.oauth.endpoints import METADATA

MAX_METADATA_BYTES: Final = 16 << 10
_DOOR: Final = {IS_DOOR: True}
_KEPT: Final = {"cache-control": "public, max-age=300"}
_TOLD: Final = frozenset({"Location", "Retry-After"})

Work = Callable[[str, Sender], Answer]


@get("/.well-known/oauth-authorization-server", include_in_schema=False, opt=_DOOR)
async def describe_server(request: AnyRequest) -> Response[Any]:
    """Tell how to sign in."""
    control = _control(request)
    told = control.oauth.endpoints.describe_server(reads_documents=control.settings.reads_clients)
    return Response(told, headers=_KEPT)


@get([METADATA, f"{METADATA}/mcp"], include_in_schema=False, opt=_DOOR)
async def describe_resource(request: AnyRequest) -> Response[Any]:
    """Tell where to sign in for the public MCP server."""
    endpoints = _control(request).oauth.endpoints
    return Response(endpoints.describe_resource(endpoints.mcp), headers=_KEPT)


@get(f"{METADATA}/mcp/p/{{key:str}}", include_in_schema=False, opt=_DOOR)
async def describe_project(request: AnyRequest, key: FromPath[str]) -> Response[Any]:
    """Tell where to sign in for a project's MCP server."""
    control = _control(request)
    if await control.ask(control.book.addresses.project, key) is None:
        raise NotFoundException("MCP server not found")
    endpoints = control.oauth.endpoints
    return Response(endpoints.describe_resource(endpoints.mcp_of(key)), headers=_KEPT)


@post(
    "/oauth/register", include_in_schema=False, opt=_DOOR,
    request_max_body_size=MAX_METADATA_BYTES,
)  # fmt: skip
async def register(request: AnyRequest) -> Response[Any]:
    """Register a client."""
    work = _control(request).oauth.register
    return send(await asyncio.to_thread(work, await request.body(), _sender(request)))


@post("/oauth/token", include_in_schema=False, opt=_DOOR)
async def give_tokens(request: AnyRequest) -> Response[Any]:
    """Give tokens for a code, a refresh token, or a device's key."""
    return await _answer(request, _control(request).oauth.give_tokens)


@post("/oauth/revoke", include_in_schema=False, opt=_DOOR)
async def revoke(request: AnyRequest) -> Response[Any]:
    """End the grant of a token."""
    return await _answer(request, _control(request).oauth.revoke)


@post("/oauth/device_authorization", include_in_schema=False, opt=_DOOR)
async def begin_device(request: AnyRequest) -> Response[Any]:
    """Give a device a code to show."""
    return await _answer(request, _control(request).oauth.begin_device)


def send(answer: Answer) -> Response[Any]:
    """Return what the authorization server answers."""
    told = {name: one for name, one in answer.headers.items() if name in _TOLD}
    return Response(answer.body or None, status_code=answer.status, headers=told)


async def _answer(request: AnyRequest, work: Work) -> Response[Any]:
    form = (await request.body()).decode(errors="replace")
    return send(await asyncio.to_thread(work, form, _sender(request)))


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
