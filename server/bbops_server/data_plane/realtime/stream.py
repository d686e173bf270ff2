"""One client that reads a topic as server-sent events: `curl -N`, or an EventSource of a browser.

Source: the HTML standard, "Server-sent events".
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections import deque
from typing import Any, Final

from bbops.runtime.http.in_flight import ActiveRequest
from bbops.runtime.realtime.linking import Identity
from bbops_server.data_plane.realtime.codes import (
    DENIED,
    EXPIRED,
    LIMIT,
    MOST_PER_USER,
    MOST_WAITING,
    MOST_WAITING_BYTES,
    PING_SECONDS,
    TOO_MANY,
    UNAUTHORIZED,
    UNKNOWN,
    Closing,
    Refused,
)
from bbops_server.data_plane.realtime.fanout.frames import Seen
from bbops_server.data_plane.realtime.hub import Connection, Hub
from bbops_server.data_plane.realtime.rooms import Subscription, Told

OPEN: Final = b": open\n\n"
BEAT: Final = b": beat\n\n"
RESET: Final = b"event: reset\ndata: {}\n\n"
"""What was missed is not known: the client reads anew what it shows."""

STATUSES: Final = {UNKNOWN: 404, UNAUTHORIZED: 401, DENIED: 403, LIMIT: 429, TOO_MANY: 429}
_LAST = re.compile(rb"([0-9a-f]{1,32}):([0-9]{1,15})").fullmatch


class EventStream(Connection):
    """A response that does not end, of one topic."""

    __slots__ = (
        "_bytes", "_closing", "_hub", "_parts", "_timer", "_woken", "client", "identity", "one",
    )  # fmt: skip

    def __init__(self, hub: Hub, scope: Any) -> None:
        scope["bbops"] = ActiveRequest()
        self._hub, self.identity = hub, Identity(scope)
        self.client = secrets.token_hex(8)
        self.one: Subscription | None = None
        self._parts: deque[bytes] = deque()
        self._bytes, self._closing, self._woken = 0, False, asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_closed(self) -> bool:
        """Whether nothing is sent any more."""
        return self._closing

    async def begin(self, name: str) -> None:
        """Subscribe. Raises: Refused: it may not."""
        await self._sign_in()
        topic, params, verdict = await self._hub.admit(name, self.identity)
        one = Subscription(self, name, topic, params, verdict)
        given = _header(self.identity.scope, b"last-event-id")
        last = _LAST(given)
        is_back = bool(given) and topic.history is not None

        def done(seen: Seen | None) -> None:
            self.one = one
            self._put(OPEN)
            if seen is not None and topic.history is not None:
                self._catch_up(seen, is_back=is_back)

        self._hub.connections.add(self)
        epoch, offset = (last[1].decode(), int(last[2])) if last is not None else ("", 0)
        await self._hub.subscribe(one, done, recover=is_back, epoch=epoch, offset=offset)

    async def _sign_in(self) -> None:
        """Be who the request's token says, until that ends.

        Raises:
            Refused: a token is there that does not count, or its user has too many connections.
        """
        scope = self.identity.scope
        token = self._hub.find_token(scope)
        found = await self._hub.verify(token) if token else None
        if token and found is None and not scope["bbops"].by_cookie:
            raise Refused(UNAUTHORIZED, "a valid token is needed")
        if found is None:
            return
        claims, ends_at = found
        if self._hub.users[claims["userId"]] >= MOST_PER_USER:
            raise Refused(LIMIT, "the user has too many connections")
        self.identity.token, self.identity.claims = token, claims
        self._hub.users[claims["userId"]] += 1
        left = max(0.0, ends_at - self._hub.now())
        self._timer = asyncio.get_running_loop().call_later(left, self.close, EXPIRED)

    def _catch_up(self, seen: Seen, *, is_back: bool) -> None:
        """Send what was missed, or that it is not known; and where the client is now.

        As one: however much it is, the client has had no time to read any of it.
        """
        parts = [RESET] if is_back and not seen.recovered else []
        parts += [_event(data, seen.epoch, number) for number, data in seen.messages]
        if not seen.messages:
            parts.append(b"id: %s:%d\n\n" % (seen.epoch.encode(), seen.offset))
        self._put(b"".join(parts))

    # ---- the way out
    def tell(self, told: Told) -> None:
        """Send a message."""
        if told.data and self.one is not None:
            if told.event is None:
                told.event = _event(told.data, self.one.epoch, told.offset)
            self._put(told.event)

    def tell_end(self, name: str, why: Closing) -> None:
        """End: the client comes back, and hears whether it may."""
        del name
        self.one = None
        self.close(why)

    def close(self, why: Closing) -> None:
        """Send nothing more."""
        del why
        self._closing = True
        self._woken.set()

    def _put(self, data: bytes) -> None:
        if self._closing:
            return  # behind a gap it would be taken for all there is
        if len(self._parts) >= MOST_WAITING or self._bytes > MOST_WAITING_BYTES:
            self._parts.clear()
            self._hub.dropped += 1
            self._closing = True  # it reads too slowly; it comes back and hears what it missed
        else:
            self._parts.append(data)
            self._bytes += len(data)
        self._woken.set()

    async def flow(self, send: Any) -> None:
        """Send until it is closed."""
        while True:
            if self._parts:
                data = b"".join(self._parts)
                self._parts.clear()
                self._bytes = 0
                await send({"type": "http.response.body", "body": data, "more_body": True})
            elif self._closing:
                return
            else:
                await self._wait(send)

    async def _wait(self, send: Any) -> None:
        self._woken.clear()
        try:
            async with asyncio.timeout(PING_SECONDS):
                await self._woken.wait()
        except TimeoutError:
            await send({"type": "http.response.body", "body": BEAT, "more_body": True})

    def forget(self) -> None:
        """Take everything of it away."""
        self._closing = True
        if self._timer is not None:
            self._timer.cancel()
        self._hub.connections.discard(self)
        claims = self.identity.claims
        if claims:
            users = self._hub.users
            users[claims["userId"]] -= 1
            if users[claims["userId"]] <= 0:
                del users[claims["userId"]]
        if self.one is not None:
            self._hub.leave(self.one)


def _event(data: bytes, epoch: str, number: int) -> bytes:
    place = b"id: %s:%d\n" % (epoch.encode(), number) if number else b""
    return b"%bdata: %b\n\n" % (place, data)


def _header(scope: Any, wanted: bytes) -> bytes:
    return next((value for name, value in scope["headers"] if name == wanted), b"")
