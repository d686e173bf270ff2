"""Who may ask what: found out from the message itself, and told over HTTP.

A client signs in when it is answered 401, and asks its person for more at a 403: neither can be
said inside of an answer of the protocol.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from bbops.interfaces.mcp.tool import McpTool, ToolError
from bbops_server.accounts.grants import Granted
from bbops_server.accounts.limits import Limit
from bbops_server.accounts.rules import GrantScope
from bbops_server.mcp.message import Message, Rejected

Find = Callable[[str], Awaitable[Granted | None]]
"""Finds what a token opens at an address; None for nothing."""

_FIRST: Final = GrantScope.PROJECT.value
"""What everything takes that needs an account."""


@dataclass(frozen=True, slots=True)
class Address:
    """One address that agents ask at.

    Attributes:
        resource: the whole address, which tokens are made for.
        metadata: where the document is that says how to sign in.
        tools: by name.
        is_open: whether those who are not known may ask for what is for everybody.
    """

    resource: str
    metadata: str
    tools: Mapping[str, McpTool[Any]]
    is_open: bool


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks now, and the place where that is done; None of somebody who is not known."""

    granted: Granted | None
    place: Any


ASKING: Final[ContextVar[Asking]] = ContextVar("asking")


async def identify(address: Address, given: str | None, find: Find) -> Granted | None:
    """Return what the header Authorization opens; None where there is no such header.

    Raises:
        Rejected: it opens nothing here, or the address is open to nobody without it.
    """
    if given is None:
        if address.is_open:
            return None
        raise _unknown(address, {_FIRST}, "sign in first: this URL belongs to a project")
    scheme, _, token = given.partition(" ")
    found = await find(token.strip()) if scheme.lower() == "bearer" else None
    if found is None:
        said = "this token is unknown, revoked, expired or issued for another URL"
        if token.strip().startswith("bbp_"):
            said = "this token is for the API and git; agents sign in to get their own"
        raise _unknown(address, {_FIRST}, said, "invalid_token")
    return found


def admit(address: Address, granted: Granted | None, message: Message) -> None:
    """Let a message in.

    Raises:
        Rejected: it takes somebody who is known, or more than they were granted.
    """
    needed = _needed(address, message)
    if granted is None:
        if needed:
            said = f"sign in first: '{(message.tool or '')[:64]}' needs an account"
            raise _unknown(address, needed, said)
    elif not needed <= granted.scopes:
        lacking = "' and '".join(_order(needed - granted.scopes))
        headers = _challenge(address, needed | granted.scopes, "insufficient_scope")
        said = f"'{(message.tool or message.method)[:64]}' takes the scope '{lacking}'"
        raise Rejected(HTTPStatus.FORBIDDEN, said, code=0, headers=headers)


def count(limit: Limit, key: str, said: str) -> None:
    """Count a request. Raises: Rejected: it is too much; says when to come again."""
    wait = limit.take(key)
    if wait:
        raise Rejected(
            HTTPStatus.TOO_MANY_REQUESTS, f"too many requests {said}; try again in {wait} s",
            code=0, headers={"retry-after": str(wait)},
        )  # fmt: skip


def find_place(tool: McpTool[Any]) -> Any:
    """Return where a tool works for whoever asks now: the lock behind that of `admit`.

    Raises:
        Refused: they may not call it.
    """
    asking = ASKING.get()
    if tool.scope and (asking.granted is None or tool.scope not in asking.granted.scopes):
        raise ToolError(f"'{tool.name}' takes the scope '{tool.scope}'", hint="sign in again")
    return asking.place


def _needed(address: Address, message: Message) -> frozenset[str]:
    always = frozenset() if address.is_open else frozenset({_FIRST})
    if message.tool is None:
        return always
    tool = address.tools.get(message.tool)
    if tool is None:
        return frozenset({_FIRST})
    return always | ({_FIRST, tool.scope} if tool.scope else frozenset())


def _unknown(address: Address, scopes: Iterable[str], said: str, error: str = "") -> Rejected:
    headers = _challenge(address, scopes, error)
    return Rejected(HTTPStatus.UNAUTHORIZED, said, code=0, headers=headers)


def _challenge(address: Address, scopes: Iterable[str], error: str) -> dict[str, str]:
    """Return the header of RFC 6750 section 3, with the document of RFC 9728 section 5.1."""
    parts = {"resource_metadata": address.metadata, "scope": " ".join(_order(scopes))}
    if error:
        parts["error"] = error
    return {"www-authenticate": "Bearer " + ", ".join(f'{n}="{v}"' for n, v in parts.items())}


def _order(scopes: Iterable[str]) -> list[str]:
    known = [scope.value for scope in GrantScope]
    return sorted(scopes, key=known.index)
