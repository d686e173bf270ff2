"""One client of the Centrifuge protocol, over a websocket."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any, Final

import msgspec

from bbops.runtime.realtime.linking import Identity
from bbops.runtime.realtime.topics import tell_agents, write_message
from bbops_server.data_plane.realtime import protocol
from bbops_server.data_plane.realtime.codes import (
    ALREADY,
    BAD_FRAME,
    BAD_REQUEST,
    CONNECT_SECONDS,
    DENIED,
    EXPIRED,
    INVALID_TOKEN,
    LIMIT,
    MOST_PER_USER,
    MOST_TOPICS,
    MOST_WAITING,
    MOST_WAITING_BYTES,
    NOT_AVAILABLE,
    PING_SECONDS,
    SLOW,
    SLOW_CLOSE_SECONDS,
    STALE,
    TOKEN_EXPIRED,
    TOO_MANY_OF_USER,
    Closing,
    Refused,
    refusal_of,
)
from bbops_server.data_plane.realtime.fanout.frames import Numbered, Seen
from bbops_server.data_plane.realtime.hub import Connection, Hub
from bbops_server.data_plane.realtime.rooms import Subscription, Told, client_info
from bbops_server.data_plane.realtime.tokens import EARLY_SECONDS, has_expired
from bbops_server.process.sockets.websocket import WebsocketWriter

CLIENT_BYTES: Final = 8


class ClosedError(Exception):
    """The connection ends for what the client has sent."""

    def __init__(self, why: Closing) -> None:
        super().__init__(why.reason)
        self.why = why


class Session(Connection):
    """A connection: who it is, what it has subscribed to, and its way out."""

    __slots__ = (
        "_closing", "_handed", "_hub", "_out", "_timer", "client", "has_answered", "identity",
        "is_connected", "subscriptions",
    )  # fmt: skip

    def __init__(self, hub: Hub, send: Any, identity: Identity, *, handed: str | None) -> None:
        """Begin, for a client that has yet to say who it is.

        Args:
            handed: the token that came with the handshake, where its page may use that.
        """
        self._hub, self.identity, self._handed = hub, identity, handed
        self._out = WebsocketWriter(send, messages=MOST_WAITING, size_bytes=MOST_WAITING_BYTES)
        self.client = secrets.token_hex(CLIENT_BYTES)
        self.subscriptions: dict[str, Subscription] = {}
        self.is_connected = self._closing = False
        self.has_answered = True
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(CONNECT_SECONDS, self.close, STALE)
        hub.connections.add(self)
        hub.pinging.add(self)

    # ---- the way out
    @property
    def is_closed(self) -> bool:
        """Whether nothing is sent any more."""
        return self._closing

    def tell(self, told: Told) -> None:
        """Send something of a topic; a client that reads too slowly is closed."""
        if not self._closing and not self._out.write(told.text, told.frame):
            self.close(SLOW)

    def tell_end(self, name: str, why: Closing) -> None:
        """Say that a subscription has ended."""
        self.subscriptions.pop(name, None)
        self._say(protocol.ended(name, why))

    def ping(self) -> bool:
        """Ask for a sign of life; return False where the last one has not come."""
        if not self.has_answered:
            return False
        self.has_answered = not self.is_connected
        if self.is_connected:
            self._say(protocol.PING)
        return True

    def _say(self, text: bytes) -> None:
        if not self._closing and not self._out.write(text):
            self.close(SLOW)

    def close(self, why: Closing) -> None:
        """End the connection; nothing is sent behind that."""
        if not self._closing:
            self._closing = True
            self._hub.dropped += why is SLOW
            self._out.close(why.code, why.reason, seconds=SLOW_CLOSE_SECONDS)
            self.forget()

    def forget(self) -> None:
        """Take everything of it away: its client has gone."""
        self._closing = True
        self._timer.cancel()
        if self in self._hub.connections:
            self._hub.connections.discard(self)
            self._hub.pinging.discard(self)
            self._count_user(-1)
        for one in tuple(self.subscriptions.values()):
            self._hub.leave(one)
        self.subscriptions.clear()

    # ---- commands
    async def take(self, text: str) -> None:
        """Do what a frame asks, one command after the other."""
        try:
            for command in protocol.read_commands(text):
                if self._closing:
                    return
                await self._do(command)
        except protocol.BadFrameError:
            self.close(BAD_FRAME)
        except ClosedError as closed:
            self.close(closed.why)

    async def _do(self, command: protocol.Command) -> None:
        if command.id <= 0:
            self._take_unasked(command)
            return
        if self.is_connected is (command.connect is not msgspec.UNSET):
            raise ClosedError(BAD_FRAME)  # `connect` comes first, and once
        try:
            result = await self._answer(command)
        except Refused as refused:
            self._say(protocol.error(command.id, refused))
        except (ClosedError, protocol.BadFrameError):
            raise
        except Exception as error:  # noqa: BLE001 - one command takes nobody along
            self._say(protocol.error(command.id, refusal_of(error)))
        else:
            if result is not None:
                self._say(protocol.reply(command.id, **result))

    def _take_unasked(self, command: protocol.Command) -> None:
        """Take the answer to a ping, or a message that wants no reply, which nobody reads."""
        if command == protocol.Command():
            self.has_answered = True
        elif command.send is msgspec.UNSET or not self.is_connected:
            raise ClosedError(BAD_FRAME)

    async def _answer(self, command: protocol.Command) -> dict[str, Any] | None:
        """Return the result; None where it was sent already. Raises: Refused, ClosedError."""
        match command:
            case protocol.Command(connect=protocol.Connect() as given):
                return await self._connect(given)
            case protocol.Command(subscribe=protocol.Subscribe() as given):
                await self._subscribe(command.id, given)
                return None
            case protocol.Command(unsubscribe=protocol.Channel() as given):
                one = self.subscriptions.pop(given.channel, None)
                if one is not None:
                    self._hub.leave(one)
                return {"unsubscribe": {}}
            case protocol.Command(publish=protocol.Publish() as given):
                return await self._publish(given)
            case protocol.Command(presence=protocol.Channel() as given):
                return {"presence": {"presence": await self._present(given.channel)}}
            case protocol.Command(presence_stats=protocol.Channel() as given):
                count = len(await self._present(given.channel))
                return {"presence_stats": {"num_clients": count, "num_users": count}}
            case protocol.Command(history=protocol.History() as given):
                return await self._history(given)
            case protocol.Command(refresh=protocol.Refresh() as given):
                return await self._refresh(given)
            case protocol.Command(sub_refresh=msgspec.Raw()) | protocol.Command(rpc=msgspec.Raw()):
                raise Refused(NOT_AVAILABLE, "not available")
        raise ClosedError(BAD_FRAME)

    # ---- who it is
    async def _connect(self, given: protocol.Connect) -> dict[str, Any]:
        token, is_given = given.token or self._handed, bool(given.token)
        found = await self._verify(token, is_given=is_given) if token else None
        user = found[0]["userId"] if found else None
        if user is not None and self._hub.users[user] >= MOST_PER_USER:
            raise ClosedError(TOO_MANY_OF_USER)
        self._timer.cancel()
        about = self._adopt(token, *found, is_given=is_given) if token and found else {}
        self.is_connected = True
        self._count_user(1)
        whole = {"client": self.client, "version": "bbops", "ping": PING_SECONDS, "pong": True}
        return {"connect": whole | about}

    async def _verify(self, token: str, *, is_given: bool) -> tuple[Any, float] | None:
        """Return what a token says and when it ends; None where it only came along and is none."""
        found = await self._hub.verify(token)
        if found is None and is_given:
            if has_expired(token, self._hub.now()):
                raise Refused(TOKEN_EXPIRED, "token expired")
            raise ClosedError(INVALID_TOKEN)
        return found

    def _adopt(
        self, token: str, claims: Any, ends_at: float, *, is_given: bool
    ) -> dict[str, Any]:  # fmt: skip
        """Be somebody until a token ends; return what the client is told of that."""
        self.identity.token, self.identity.claims = token, claims
        left = max(0.0, ends_at - self._hub.now())
        self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(left, self.close, EXPIRED)
        if not is_given:
            return {"expires": False}  # it cannot be refreshed here
        return {"expires": True, "ttl": max(1, int(left - min(EARLY_SECONDS, left / 5)))}

    async def _refresh(self, given: protocol.Refresh) -> dict[str, Any]:
        found = await self._verify(given.token, is_given=True)
        if found is None or found[0]["userId"] != self._user:
            raise ClosedError(INVALID_TOKEN)
        about = self._adopt(given.token, *found, is_given=True)
        self._hub.rejudging.take(self.subscriptions.values())
        return {"refresh": {"client": self.client, "version": "bbops"} | about}

    @property
    def _user(self) -> Any:
        claims = self.identity.claims
        return claims["userId"] if claims else None

    def _count_user(self, change: int) -> None:
        if self.is_connected and self._user is not None:
            self._hub.users[self._user] += change
            if self._hub.users[self._user] <= 0:
                del self._hub.users[self._user]

    # ---- topics
    async def _subscribe(self, number: int, given: protocol.Subscribe) -> None:
        name = given.channel
        if name in self.subscriptions:
            raise Refused(ALREADY, "already subscribed")
        if len(self.subscriptions) >= MOST_TOPICS:
            raise Refused(LIMIT, f"a connection has {MOST_TOPICS} subscriptions at most")
        topic, params, verdict = await self._hub.admit(name, self.identity)
        if self._closing:
            return
        one = Subscription(self, name, topic, params, verdict)
        one.wants_moves = given.join_leave and topic.show is not None

        def done(seen: Seen | None) -> None:
            self.subscriptions[name] = one
            result = _subscribed(one, seen, given) if seen else {}
            self._say(protocol.reply(number, subscribe=result))

        await self._hub.subscribe(
            one, done, recover=given.recover, epoch=given.epoch, offset=given.offset
        )

    async def _publish(self, given: protocol.Publish) -> dict[str, Any]:
        name = given.channel
        one = self.subscriptions.get(name)
        if one is not None:
            topic, verdict = one.topic, one.verdict
        else:
            topic, _, verdict = await self._hub.judge(name, self.identity)
        if not verdict.may_publish:
            raise Refused(DENIED, "permission denied")
        message = protocol.read_message(given.data)
        payload = topic.check(message.event, message.payload)
        data = write_message(message.event, payload)
        await tell_agents(verdict.values.host.events, topic, message.event, payload)
        await self._hub.publish(topic, name, data)
        return {"publish": {}}

    async def _present(self, name: str) -> dict[str, Any]:
        one = self._subscribed_to(name)
        if one.topic.show is None:
            raise Refused(NOT_AVAILABLE, "the topic has no 'presence'")
        seen = await self._hub.look(name)
        return {
            client: client_info(client, msgspec.Raw(shown))
            for client, shown in seen.present.items()
        }  # fmt: skip

    async def _history(self, given: protocol.History) -> dict[str, Any]:
        one = self._subscribed_to(given.channel)
        if one.topic.history is None or one.topic.rows is not None:
            raise Refused(NOT_AVAILABLE, "no 'history' can be asked for here")
        if given.limit < 0:
            raise Refused(BAD_REQUEST, "'limit' is not negative")
        after = given.since.offset if given.since else None
        most = min(given.limit, one.topic.history.size)
        seen = await self._hub.look(given.channel, most=most, after=after, is_reverse=given.reverse)
        if given.since is not None and given.since.epoch not in {"", seen.epoch}:
            raise Refused(112, "unrecoverable position")
        told = {"epoch": seen.epoch, "offset": seen.offset, "publications": _told(seen.messages)}
        return {"history": told}

    def _subscribed_to(self, name: str) -> Subscription:
        one = self.subscriptions.get(name)
        if one is None:
            raise Refused(DENIED, "not subscribed to the topic")
        return one


def _subscribed(one: Subscription, seen: Seen, given: protocol.Subscribe) -> dict[str, Any]:
    if one.topic.history is None:
        return {}
    told = {"recoverable": True, "positioned": True, "epoch": seen.epoch, "offset": seen.offset}
    if not given.recover:
        return told
    missed = _told(seen.messages)
    return told | {"was_recovering": True, "recovered": seen.recovered, "publications": missed}


def _told(messages: list[Numbered]) -> list[dict[str, Any]]:
    return [protocol.publication(data, number) for number, data in messages]
