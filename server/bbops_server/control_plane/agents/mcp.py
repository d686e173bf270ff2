"""The way in for agents: `/mcp`, and an address below it for each project.

Who asks is known by a grant alone. The SDK is imported when somebody first asks.
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
from bbops_server.control_plane.web.routes import IS_DOOR, read
from bbops_server.control_plane.web.state import ControlState
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.mcp.gate import ASKING, Address, Asking, admit, count, identify
from bbops_server.mcp.message import (
    MOST_BYTES,
    MOST_OF_STRANGERS,
    Gone,
    Message,
    Rejected,
    check_head,
    read_headers,
    read_message,
)
from bbops_server.mcp.oauth.endpoints import METADATA
from bbops_server.mcp.public_context import MCP_PATH, PublicContext
from bbops_server.mcp.tables import PROJECT, PUBLIC, tools_of

_KEY: Final = re.compile("[a-z0-9]{1,64}")
_SERVERS: Final = "bbops_server.mcp.servers"
_loaded: list[ModuleType] = []


@asgi(MCP_PATH, is_mount=False, copy_scope=True, opt={IS_DOOR: True})
async def answer_public(scope: Any, receive: Any, send: Any) -> None:
    """Answer at the address of everybody."""
    await _answer(scope, receive, send, "")


@asgi(f"{MCP_PATH}/p", is_mount=True, copy_scope=True, opt={IS_DOOR: True})
async def answer_project(scope: Any, receive: Any, send: Any) -> None:
    """Answer at the address of one project."""
    key = scope["path"].strip("/")
    if _KEY.fullmatch(key):
        await _answer(scope, receive, send, key)
    else:
        await Rejected(HTTPStatus.NOT_FOUND, "no project has this address", code=0).send(send)


@read("/api/projects/{name:str}/mcp", Permission.READ_PROJECT)
async def read_mcp_address(visit: Here, name: FromPath[str]) -> McpAddress:
    """The address of the project's MCP server: it is used as it is, none is made from a name."""
    if not any(one.name == name for one in visit.control.status.projects()):
        raise NotFoundException(f"there is no project '{name}'")
    key = await visit.control.ask(visit.book.addresses.of, name)
    return McpAddress(visit.control.link(f"{MCP_PATH}/p/{key}"))


async def _answer(scope: Any, receive: Any, send: Any, key: str) -> None:
    control: ControlState = scope["litestar_app"].state.control
    visit, headers = Visit(Request(scope | {"type": "http"}), control), read_headers(scope)
    try:
        check_head(scope["method"], headers)
        servers = await _load()
        server = servers.project_server() if key else servers.public_server()
        message, asking = await _let_in(visit, headers.get("authorization"), key, receive)
        ASKING.set(asking)  # of this request: each has a context of its own
        await servers.exchange(server, message, headers, scope, receive, send)
    except Rejected as rejected:
        await rejected.send(send)
    except Gone:
        return


async def _let_in(
    visit: Visit, given: str | None, key: str, receive: Any
) -> tuple[Message, Asking]:
    """Return what is asked, and who asks.

    Raises:
        Rejected: they may not, or it is no message.
        Gone: they did not wait.
    """
    address = _address(visit.control, key)
    if given is None:
        _count_stranger(visit)
    granted = await identify(address, given, partial(_find, visit, address))
    if granted is not None:
        count(visit.control.limits.grants, granted.caller.key, "by this agent")
    place = await _find_place(visit, granted, key)
    message = await read_message(receive, MOST_BYTES if granted else MOST_OF_STRANGERS)
    admit(address, granted, message)
    return message, Asking(granted, place)


def _address(control: ControlState, key: str) -> Address:
    path = f"{MCP_PATH}/p/{key}" if key else MCP_PATH
    tools = tools_of(PROJECT if key else PUBLIC)
    return Address(control.link(path), control.link(METADATA + path), tools, is_open=not key)


async def _find(visit: Visit, address: Address, token: str) -> Granted | None:
    grants = visit.control.book.grants
    known = grants.recall(token, address.resource)  # most are, and that blocks nobody
    if known is not None:
        return known
    _count_stranger(visit)
    return await visit.control.ask(grants.find, token, address.resource)


async def _find_place(visit: Visit, granted: Granted | None, key: str) -> Any:
    """Return where tools work for them; nothing is looked at yet.

    Raises:
        Rejected: there is no such project, or they have no access to it.
    """
    control, servers = visit.control, await _load()
    if granted is not None:
        visit.caller = granted.caller
    if not key:
        return PublicContext(control.status, control.book, control.settings, granted, visit.note)
    project = await control.ask(control.book.addresses.project, key)
    if project is None or not visit.may(Permission.READ_PROJECT, project):
        raise Rejected(
            HTTPStatus.FORBIDDEN, "you have no access to this project, or there is none here; an"
            f" owner of this server gives it: {control.link('/people')}", code=0,
        )  # fmt: skip
    return servers.open_workplace(control, visit.caller, project, address=visit.address)


def _count_stranger(visit: Visit) -> None:
    """Count what is asked by nobody, or by a token not seen lately. Raises: Rejected: too much."""
    count(visit.control.limits.agents, visit.network, "from here by who is not signed in")


async def _load() -> ModuleType:
    """Return the servers; the first call takes most of a second, in a thread."""
    if not _loaded:
        _loaded.append(await asyncio.to_thread(_import))
    return _loaded[0]


def _import() -> ModuleType:
    found = import_module(_SERVERS)
    found.prepare()
    return found


ROUTES = (answer_public, answer_project, read_mcp_address)
