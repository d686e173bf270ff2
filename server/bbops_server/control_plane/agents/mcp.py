"""MCP endpoints for agents: `/mcp`, and `/mcp/p/KEY` for each project.

Requests are authenticated by a grant's access token only. The first request imports the SDK.
"""

from __future__ import annotations

import asyncio
import re
from functools import partial
from http import HTTPStatus
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from litestar import Request, asgi
from litestar.exceptions import NotFoundException
from litestar.params import FromPath

from bbops.interfaces.answers import McpAddress
from bbops_server.accounts.grants import Granted
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.routes import HAS_OWN_AUTH, read
from bbops_server.control_plane.web.state import ControlState
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.mcp.gate import (
    CALL,
    MOST_BYTES,
    MOST_OF_STRANGERS,
    Address,
    CallContext,
    Disconnected,
    Message,
    Rejected,
    admit,
    check_head,
    count,
    identify,
    read_headers,
    read_message,
)
from bbops_server.mcp.oauth.endpoints import METADATA
from bbops_server.mcp.public_context import MCP_PATH, PublicContext
from bbops_server.mcp.servers import PROJECT, PUBLIC, tools_of

_KEY: Final = re.compile("[a-z0-9]{1,64}")
_SERVERS: Final = "bbops_server.mcp.servers"
_loaded: list[ModuleType] = []


@asgi(MCP_PATH, is_mount=False, copy_scope=True, opt={HAS_OWN_AUTH: True})
async def answer_public(scope: Any, receive: Any, send: Any) -> None:
    """Serve the public MCP server."""
    await _answer(scope, receive, send, "")


@asgi(f"{MCP_PATH}/p", is_mount=True, copy_scope=True, opt={HAS_OWN_AUTH: True})
async def answer_project(scope: Any, receive: Any, send: Any) -> None:
    """Serve the MCP server of a project."""
    key = scope["path"].strip("/")
    if _KEY.fullmatch(key):
        await _answer(scope, receive, send, key)
    else:
        await Rejected(HTTPStatus.NOT_FOUND, "no project has this address", code=0).send(send)


@read("/api/projects/{name:str}/mcp", Permission.READ_PROJECT)
async def read_mcp_address(visit: Here, name: FromPath[str]) -> McpAddress:
    """The URL of the project's MCP server, which cannot be derived from the project's name."""
    if not any(project.name == name for project in visit.control.status.projects()):
        raise NotFoundException(f"there is no project '{name}'")
    key = await visit.control.run(visit.book.addresses.of, name)
    return McpAddress(visit.control.link(f"{MCP_PATH}/p/{key}"))


async def _answer(scope: Any, receive: Any, send: Any, key: str) -> None:
    control: ControlState = scope["litestar_app"].state.control
    visit, headers = Visit(Request(scope | {"type": "http"}), control), read_headers(scope)
    try:
        check_head(scope["method"], headers)
        servers = await _load()
        server = servers.project_server() if key else servers.public_server()
        message, context = await _admit(visit, headers.get("authorization"), key, receive)
        CALL.set(context)  # a context variable: each request has its own
        await servers.exchange(server, message, headers, scope, receive, send)
    except Rejected as rejected:
        await rejected.send(send)
    except Disconnected:
        return


async def _admit(
    visit: Visit, authorization: str | None, key: str, receive: Any
) -> tuple[Message, CallContext]:
    """Return the message and its principal, after all checks.

    Raises:
        Rejected: the caller has no access, or the body is not a valid message.
        Disconnected: the client has disconnected.
    """
    address = _address(visit.control, key)
    if authorization is None:
        _count_unauthenticated(visit)
    granted = await identify(address, authorization, partial(_find_grant, visit, address))
    if granted is not None:
        count(visit.control.limits.grants, granted.caller.key, "by this agent")
    place = await _find_context(visit, granted, key)
    message = await read_message(receive, MOST_BYTES if granted else MOST_OF_STRANGERS)
    admit(address, granted, message)
    return message, CallContext(granted, place)


def _address(control: ControlState, key: str) -> Address:
    path = f"{MCP_PATH}/p/{key}" if key else MCP_PATH
    tools = tools_of(PROJECT if key else PUBLIC)
    return Address(control.link(path), control.link(METADATA + path), tools, is_open=not key)


async def _find_grant(visit: Visit, address: Address, token: str) -> Granted | None:
    grants = visit.control.book.grants
    known = grants.recall(token, address.resource)  # usually cached, without a thread
    if known is not None:
        return known
    _count_unauthenticated(visit)
    return await visit.control.run(grants.find, token, address.resource)


async def _find_context(visit: Visit, granted: Granted | None, key: str) -> Any:
    """Return the context of the tools: the public one, or a project's workplace.

    Raises:
        Rejected: the project does not exist, or the caller has no access to it.
    """
    control, servers = visit.control, await _load()
    if granted is not None:
        visit.caller = granted.caller
    if not key:
        return PublicContext(control.status, control.book, control.settings, granted, visit.note)
    project = await control.run(control.book.addresses.project, key)
    if project is None or not visit.may(Permission.READ_PROJECT, project):
        raise Rejected(
            HTTPStatus.FORBIDDEN, "you have no access to this project, or there is none here; an"
            f" owner of this server gives it: {control.link('/people')}", code=0,
        )  # fmt: skip
    return servers.open_workplace(control, visit.caller, project, address=visit.address)


def _count_unauthenticated(visit: Visit) -> None:
    """Count a request without a grant, or with an uncached token. Raises: Rejected: rate limit."""
    count(visit.control.limits.agents, visit.network, "from this network without signing in")


async def _load() -> ModuleType:
    """Return the module with the MCP servers; the first import takes most of a second."""
    if not _loaded:
        _loaded.append(await asyncio.to_thread(_import))
    return _loaded[0]


def _import() -> ModuleType:
    module = import_module(_SERVERS)
    module.prepare()
    return module


ROUTES = (answer_public, answer_project, read_mcp_address)
