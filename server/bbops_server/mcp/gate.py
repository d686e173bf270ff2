"""Access checks of messages, answered over HTTP.

Clients sign in after a 401, and ask their user for more scopes after a 403. The protocol's own
responses have no such statuses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, cast

import msgspec

from bbops.interfaces.mcp.tool import McpTool, ToolError
from bbops_server.accounts.grants import Granted
from bbops_server.accounts.limits import Limit
from bbops_server.accounts.rules import GrantScope

Find = Callable[[str], Awaitable[Granted | None]]
"""Returns the grant of a token at an address; None without one."""

_FIRST: Final = GrantScope.PROJECT.value
"""The scope of every message that needs an account."""


@dataclass(frozen=True, slots=True)
class Address:
    """The address of an MCP server.

    Attributes:
        resource: the whole address, the resource of its tokens.
        metadata: the address of the document about signing in.
        tools: its tools by name.
        is_open: whether tools without a scope need no sign-in.
    """

    resource: str
    metadata: str
    tools: Mapping[str, McpTool[Any]]
    is_open: bool


@dataclass(frozen=True, slots=True)
class CallContext:
    """The grant of the caller, None without a sign-in; and the object that tools work on."""

    granted: Granted | None
    place: Any


CALL: Final[ContextVar[CallContext]] = ContextVar("call")


async def identify(address: Address, given: str | None, find: Find) -> Granted | None:
    """Return the grant of the header Authorization; None without the header.

    Raises:
        Rejected: it has no grant here, or the address needs one.
    """
    if given is None:
        if address.is_open:
            return None
        raise _unknown(address, {_FIRST}, "sign in first: this URL belongs to a project")
    scheme, _, token = given.partition(" ")
    found = await find(token.strip()) if scheme.lower() == "bearer" else None
    if found is None:
        reason = "this token is unknown, revoked, expired or issued for another URL"
        if token.strip().startswith("bbp_"):
            reason = "this token is for the API and git; agents sign in to get their own"
        raise _unknown(address, {_FIRST}, reason, "invalid_token")
    return found


def admit(address: Address, granted: Granted | None, message: Message) -> None:
    """Check the scopes that a message needs.

    Raises:
        Rejected: it needs a sign-in, or scopes that were not granted.
    """
    needed = _needed(address, message)
    if granted is None:
        if needed:
            reason = f"sign in first: '{(message.tool or '')[:64]}' needs an account"
            raise _unknown(address, needed, reason)
    elif not needed <= granted.scopes:
        lacking = "' and '".join(_order(needed - granted.scopes))
        headers = _challenge(address, needed | granted.scopes, "insufficient_scope")
        reason = f"'{(message.tool or message.method)[:64]}' takes the scope '{lacking}'"
        raise Rejected(HTTPStatus.FORBIDDEN, reason, code=0, headers=headers)


def count(limit: Limit, key: str, subject: str) -> None:
    """Count a request of a subject. Raises: Rejected: it exceeds the limit; has the wait."""
    wait = limit.take(key)
    if wait:
        raise Rejected(
            HTTPStatus.TOO_MANY_REQUESTS, f"too many requests {subject}; try again in {wait} s",
            code=0, headers={"retry-after": str(wait)},
        )  # fmt: skip


def find_place(tool: McpTool[Any]) -> Any:
    """Return the object that a tool works on for the caller; a second check after `admit`.

    Raises:
        ToolError: the caller may not use the tool.
    """
    call = CALL.get()
    if tool.scope and (call.granted is None or tool.scope not in call.granted.scopes):
        raise ToolError(f"'{tool.name}' takes the scope '{tool.scope}'", hint="sign in again")
    return call.place


def _needed(address: Address, message: Message) -> frozenset[str]:
    always = frozenset() if address.is_open else frozenset({_FIRST})
    if message.tool is None:
        return always
    tool = address.tools.get(message.tool)
    if tool is None:
        return frozenset({_FIRST})
    return always | ({_FIRST, tool.scope} if tool.scope else frozenset())


def _unknown(address: Address, scopes: Iterable[str], reason: str, error: str = "") -> Rejected:
    headers = _challenge(address, scopes, error)
    return Rejected(HTTPStatus.UNAUTHORIZED, reason, code=0, headers=headers)


def _challenge(address: Address, scopes: Iterable[str], error: str) -> dict[str, str]:
    """Return the header of RFC 6750 section 3, with the document of RFC 9728 section 5.1."""
    parts = {"resource_metadata": address.metadata, "scope": " ".join(_order(scopes))}
    if error:
        parts["error"] = error
    return {"www-authenticate": "Bearer " + ", ".join(f'{n}="{v}"' for n, v in parts.items())}


def _order(scopes: Iterable[str]) -> list[str]:
    known = [scope.value for scope in GrantScope]
    return sorted(scopes, key=known.index)


# ---- One message of JSON-RPC over HTTP: read once, with limits, and checked before it is run

INVALID: Final = -32600
PARSE_ERROR: Final = -32700
NO_METHOD: Final = -32601
MOST_BYTES: Final = 4 << 20
"""The largest message of a signed-in client."""
MOST_OF_STRANGERS: Final = 64 << 10
_READ_SECONDS: Final = 30.0
_BOTH: Final = ("application/json", "text/event-stream")


class Rejected(Exception):
    """A message is rejected over HTTP, before the protocol's own server reads it."""

    def __init__(
        self, status: int, message: str, *, code: int = INVALID, headers: Mapping[str, str] = {}
    ) -> None:
        """`code` is of the JSON-RPC error; 0 for a response in plain text."""
        super().__init__(message)
        self.status, self.message, self.code, self.headers = status, message, code, headers

    async def send(self, send: Any) -> None:
        """Send the response."""
        body, kind = self.message.encode(), "text/plain; charset=utf-8"
        if self.code:
            body, kind = write_error(None, self.code, self.message), "application/json"
        await send_body(send, self.status, body, {"content-type": kind, **self.headers})


class Disconnected(Exception):
    """The client has disconnected."""


@dataclass(frozen=True, slots=True)
class Message:
    """A request, or a notification, whose `id` is None. `whole` is the decoded message."""

    id: str | int | None
    method: str
    params: Mapping[str, Any]
    whole: Mapping[str, Any]

    @property
    def tool(self) -> str | None:
        """The name of the tool that it calls; None for other methods."""
        if self.method != "tools/call":
            return None
        name = self.params.get("name")
        return name if isinstance(name, str) else ""


def read_headers(scope: Any) -> dict[str, str]:
    """Return the headers by name, without spaces around values; several `accept` are joined."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        text, known = value.decode("latin-1").strip(), name.decode("latin-1")
        is_list = known == "accept" and known in found
        found[known] = f"{found[known]},{text}" if is_list else found.get(known, text)
    return found


def check_head(method: str, headers: Mapping[str, str]) -> None:
    """Check the head of a request.

    Args:
        headers: of `read_headers`.

    Raises:
        Rejected: the method, the content type or the accepted types are not the protocol's.
    """
    if method != "POST":
        raise Rejected(
            HTTPStatus.METHOD_NOT_ALLOWED, "use POST here; see /docs/agents.md",
            headers={"allow": "POST"},
        )  # fmt: skip
    if headers.get("content-type", "").partition(";")[0].strip().lower() != _BOTH[0]:
        raise Rejected(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Content-Type must be {_BOTH[0]}")
    given = headers.get("accept", "").split(",")
    accepted = {kind.partition(";")[0].strip().lower() for kind in given}
    if "*/*" not in accepted and not accepted.issuperset(_BOTH):
        raise Rejected(HTTPStatus.NOT_ACCEPTABLE, f"Accept must name {_BOTH[0]} and {_BOTH[1]}")


async def read_message(receive: Any, most_bytes: int) -> Message:
    """Read the body of a request.

    Raises:
        Rejected: it is too large, too slow, or not one message.
        Disconnected: the client disconnects.
    """
    try:
        async with asyncio.timeout(_READ_SECONDS):
            body = await _read_body(receive, most_bytes)
    except TimeoutError:
        raise Rejected(HTTPStatus.REQUEST_TIMEOUT, "the message took too long to arrive") from None
    return parse_message(body)


async def _read_body(receive: Any, most_bytes: int) -> bytes:
    body = bytearray()
    while True:
        part = await receive()
        if part["type"] == "http.disconnect":
            raise Disconnected
        body += part.get("body", b"")
        if len(body) > most_bytes:
            reason = f"the message is larger than {most_bytes:,} bytes"
            raise Rejected(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason)
        if not part.get("more_body"):
            return bytes(body)


def parse_message(body: bytes) -> Message:
    """Return the message of a body.

    Raises:
        Rejected: it is not JSON, several messages, a response, or not a JSON-RPC message.
    """
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _bad("the body is not JSON", PARSE_ERROR) from None
    if isinstance(found, list):
        raise _bad("send one message per request; this protocol has no batches")
    if not isinstance(found, dict) or found.get("jsonrpc") != "2.0":
        raise _bad("the body must be one JSON-RPC 2.0 message")
    return _check(cast("dict[str, Any]", found))


def _check(found: dict[str, Any]) -> Message:
    method, params, id_ = found.get("method"), found.get("params", {}), found.get("id")
    if not isinstance(method, str):
        raise _bad("the message names no method")
    if not isinstance(params, dict):
        raise _bad("'params' must be an object")
    if "id" in found and (not isinstance(id_, str | int) or isinstance(id_, bool)):
        raise _bad("'id' must be text or a whole number")
    return Message(id_, method, params, found)


def _bad(message: str, code: int = INVALID) -> Rejected:
    return Rejected(HTTPStatus.BAD_REQUEST, message, code=code)


def write_error(id_: str | int | None, code: int, message: str) -> bytes:
    """Return a JSON-RPC error as bytes."""
    error = {"code": code, "message": message}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id_, "error": error})


async def send_body(send: Any, status: int, body: bytes, headers: Mapping[str, str]) -> None:
    """Send a response."""
    fields = {**headers, "content-length": str(len(body))}
    pairs = [(name.encode(), text.encode("latin-1", "replace")) for name, text in fields.items()]
    await send({"type": "http.response.start", "status": int(status), "headers": pairs})
    await send({"type": "http.response.body", "body": body})
