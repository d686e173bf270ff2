"""Codes of the Centrifuge protocol, and the limits of clients.

Source: centrifugal.dev, "Client protocol" and "Error and disconnect codes".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bbops.runtime.values.failures import BadValue, Failure, InvalidInput, Thrown


class Refused(Exception):
    """A command is refused; the connection stays."""

    def __init__(self, code: int, message: str, *, is_temporary: bool = False) -> None:
        super().__init__(message)
        self.code, self.message, self.is_temporary = code, message, is_temporary


@dataclass(frozen=True, slots=True)
class Closing:
    """Why a connection ends. Clients come back by themselves below 3500."""

    code: int
    reason: str


INTERNAL: Final = 100
UNAUTHORIZED: Final = 101
UNKNOWN: Final = 102
DENIED: Final = 103
ALREADY: Final = 105
LIMIT: Final = 106
BAD_REQUEST: Final = 107
NOT_AVAILABLE: Final = 108
TOKEN_EXPIRED: Final = 109
TOO_MANY: Final = 111

SHUTDOWN: Final = Closing(3001, "shutdown")
EXPIRED: Final = Closing(3005, "connection expired")
SLOW: Final = Closing(3008, "slow")
NO_PONG: Final = Closing(3012, "no pong")
INVALID_TOKEN: Final = Closing(3500, "invalid token")
BAD_FRAME: Final = Closing(3501, "bad request")
STALE: Final = Closing(3502, "stale")
TOO_MANY_OF_USER: Final = Closing(3504, "connection limit")
NOT_TEXT: Final = Closing(3506, "inappropriate protocol")

ENDED: Final = Closing(2000, "permission ended")
"""Of a subscription: the client does not come back to it by itself."""

FAILED: Final = Closing(2100, "the rule of the topic failed")
"""Of a subscription to rows: likewise."""

LOST: Final = Closing(2500, "insufficient state")
"""Of a subscription: the client subscribes again."""


def refusal_of(error: BaseException) -> Refused:
    """Return how a failure of middleware or of a message is told to its client."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, Thrown):
        return _refusal_of_thrown(error)
    if isinstance(error, InvalidInput):
        return Refused(BAD_REQUEST, error.message)
    if isinstance(error, BadValue):
        return Refused(BAD_REQUEST, error.said)
    if isinstance(error, Failure) and error.may_pass:
        return Refused(INTERNAL, "not available now", is_temporary=True)
    return Refused(INTERNAL, "internal server error", is_temporary=True)


def _refusal_of_thrown(error: Thrown) -> Refused:
    if error.status == 401:
        return Refused(UNAUTHORIZED, error.message or "a valid token is needed")
    if error.status == 429:
        return Refused(TOO_MANY, error.message or "too many requests", is_temporary=True)
    if error.status >= 500:
        return Refused(INTERNAL, error.message or "internal server error", is_temporary=True)
    return Refused(DENIED, error.message or "permission denied")


# ---- How much clients may ask for; each has its refusal

MOST_CLIENTS: Final = 10_000
"""Connections of one project in a process; more are answered 503."""

MOST_PER_USER: Final = 20
"""Connections of one user in a process; another one is closed with 3504."""

MOST_TOPICS: Final = 100
"""Subscriptions of a connection; another one is refused with 106."""

MOST_FRAME_BYTES: Final = 80 << 10
"""Of what a client sends at once: a message of 64 KB, and what is around it."""

MOST_COMMANDS: Final = 256
"""In one frame; more end the connection with 3501."""

MOST_WAITING: Final = 256
MOST_WAITING_BYTES: Final = 1 << 20
"""Messages, and bytes, that wait for a client which reads too slowly; more close it with 3008."""

MOST_PRESENT: Final = 1_000
"""Subscribers of one topic that shows who is there; another one is refused with 106."""

MOST_LOG_BYTES: Final = 8 << 20
MOST_LOGS_BYTES: Final = 256 << 20
"""Of the messages that one topic keeps, and all of them."""

MOST_LOGS: Final = 100_000
"""Topics that are known while nobody has subscribed to them."""

CONNECT_SECONDS: Final = 15.0
"""How long a client may take to say who it is."""

PING_SECONDS: Final = 25
SLOW_CLOSE_SECONDS: Final = 10.0
"""How long a slow client has to read that it is closed."""
