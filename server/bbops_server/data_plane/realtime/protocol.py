"""Commands and replies of the Centrifuge protocol in JSON: one object a line.

Source: github.com/centrifugal/protocol, client.proto; fields that mean nothing here are left out.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from bbops_server.data_plane.realtime.codes import MOST_COMMANDS, Closing, Refused

Offset = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""Others could not go on to the process that numbers messages."""


class Connect(Struct, frozen=True):
    """Who a client is."""

    token: str = ""


class Subscribe(Struct, frozen=True):
    """A topic; with `recover`, where the client stopped."""

    channel: str
    recover: bool = False
    epoch: str = ""
    offset: Offset = 0
    join_leave: bool = False


class Channel(Struct, frozen=True):
    """A topic, of `unsubscribe` and `presence`."""

    channel: str


class Publish(Struct, frozen=True):
    """A message of a client."""

    channel: str
    data: Raw


class Since(Struct, frozen=True):
    """A place in a history."""

    offset: Offset = 0
    epoch: str = ""


class History(Struct, frozen=True):
    """A part of what is kept; without a limit, only where it ends."""

    channel: str
    limit: int = 0
    since: Since | None = None
    reverse: bool = False


class Refresh(Struct, frozen=True):
    """A newer token."""

    token: str = ""


class Command(Struct, frozen=True):
    """What a client asks: exactly one of these; none at all answers a ping."""

    id: Annotated[int, Meta(le=2**63 - 1)] = 0
    connect: Connect | UnsetType = UNSET
    subscribe: Subscribe | UnsetType = UNSET
    unsubscribe: Channel | UnsetType = UNSET
    publish: Publish | UnsetType = UNSET
    presence: Channel | UnsetType = UNSET
    presence_stats: Channel | UnsetType = UNSET
    history: History | UnsetType = UNSET
    refresh: Refresh | UnsetType = UNSET
    sub_refresh: Raw | UnsetType = UNSET
    rpc: Raw | UnsetType = UNSET
    send: Raw | UnsetType = UNSET


class Message(Struct, frozen=True):
    """What a client publishes: an event of the topic, and its payload."""

    event: str
    payload: Any = None


PING: Final = b"{}"
_decode = msgspec.json.Decoder(Command).decode
_decode_message = msgspec.json.Decoder(Message).decode
_encode = msgspec.json.Encoder().encode


class BadFrameError(Exception):
    """What came is not made of commands."""


def read_commands(text: str) -> list[Command]:
    """Return the commands of a frame.

    Raises:
        BadFrameError: a line is not a command, or there are too many.
    """
    lines = [line for line in text.split("\n") if line]
    if len(lines) > MOST_COMMANDS:
        raise BadFrameError
    try:
        return [_decode(line) for line in lines]
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        raise BadFrameError from None


def read_message(data: Raw) -> Message:
    """Return what a client publishes.

    Raises:
        Refused: it is not `{event, payload}`.
    """
    try:
        return _decode_message(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        raise Refused(107, "a message is {event, payload}") from None


def reply(number: int, **result: Any) -> bytes:
    """Return the reply to a command: its name, and what came of it."""
    return _encode({"id": number, **result})


def error(number: int, refused: Refused) -> bytes:
    """Return the refusal of a command."""
    told: dict[str, Any] = {"code": refused.code, "message": refused.message}
    if refused.is_temporary:
        told["temporary"] = True
    return _encode({"id": number, "error": told})


def push(channel: str, **what: Any) -> bytes:
    """Return what a client has not asked for: of a topic."""
    return _encode({"push": {"channel": channel, **what}})


def ended(channel: str, why: Closing) -> bytes:
    """Return that a subscription has ended."""
    return push(channel, unsubscribe={"code": why.code, "reason": why.reason})


def publication(data: bytes, offset: int) -> dict[str, Any]:
    """Return a message; without an offset where none is kept."""
    return {"data": Raw(data), "offset": offset} if offset else {"data": Raw(data)}
