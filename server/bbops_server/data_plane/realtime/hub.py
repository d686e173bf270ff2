"""The clients of one project in one process, and the pings to them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from itertools import cycle
from typing import Any, Final, Protocol

import msgspec

from bbops.runtime.flow.run import log_rejection
from bbops.runtime.realtime.linking import Identity, Judge, Verdict
from bbops.runtime.realtime.topics import Kept, Params, Topic, Topics
from bbops_server.data_plane.realtime.codes import (
    DENIED,
    ENDED,
    FAILED,
    INTERNAL,
    LIMIT,
    LOST,
    MOST_CLIENTS,
    NO_PONG,
    PING_SECONDS,
    SHUTDOWN,
    UNKNOWN,
    Closing,
    Refused,
    refusal_of,
)
from bbops_server.data_plane.realtime.fanout.end import End
from bbops_server.data_plane.realtime.fanout.frames import Changed, Moved, Seen
from bbops_server.data_plane.realtime.rooms import Rejudging, Rooms, Subscription
from bbops_server.data_plane.realtime.sight import Sight
from bbops_server.data_plane.realtime.tokens import may_use_cookie

Done = Callable[[Seen | None], None]


def _nothing(_: Seen | None) -> None:
    """Say nothing yet."""


NO_CENTER: Final = "the place that numbers messages cannot be asked now"


class Connection(Protocol):
    """What a hub asks of a client."""

    def close(self, why: Closing) -> None:
        """End the connection."""
        ...


class Hub:
    """Connections, subscriptions, and what decides about them."""

    def __init__(self, end: End, hold: Callable[[], Awaitable[None]]) -> None:
        """Begin without a release.

        Args:
            end: where messages come from and go to.
            hold: returns once the project's requests may go on.
        """
        self._end, self._hold = end, hold
        self.project = ""
        self.topics = Topics(())
        self.origins: Mapping[str, bool] = {}
        self.rooms, self.rejudging = Rooms(), Rejudging(self.judge_again)
        self.sight = Sight(self.fail, lambda one: self.end(one, LOST))
        self.connections: set[Connection] = set()
        self.dropped = 0
        """Clients that were closed because they read too slowly."""
        self.pinging = Pinging()
        self.users: Counter[Any] = Counter()
        self._judge: Judge | None = None

    # ---- releases
    def use(
        self, project: str, topics: Topics, judge: Judge, origins: Mapping[str, bool]
    ) -> None:  # fmt: skip
        """Decide by a release from now on, also about those who have subscribed before.

        Args:
            project: what the center knows it by.
            topics: those of the release.
            judge: decides about clients.
            origins: whose pages may ask, and whether with cookies.
        """
        self.project, self.topics, self._judge = project, topics, judge
        self.origins = origins
        self._end.take(project, self)
        self.rejudging.take(self.rooms.every)

    @property
    def is_full(self) -> bool:
        """Whether no more clients may connect."""
        return len(self.connections) >= MOST_CLIENTS

    async def verify(self, token: str) -> tuple[Any, float] | None:
        """Return what a token says, and when it ends; None of one that does not count."""
        answering = self._judge.answering if self._judge else None
        tokens = answering.tokens if answering else None
        if answering is None or tokens is None:
            return None
        if tokens.sets:
            await tokens.prepare(token)
        claims, ends_at = tokens.verify(token), tokens.ends_at(token)
        if claims is None or ends_at is None:
            log_rejection(answering.host.log, tokens.rejection, by="realtime")
            return None
        return claims, ends_at

    def find_token(self, scope: Any) -> str | None:
        """Return the token among the headers of a request, if its page may use it."""
        token = self._judge.answering.credentials.find(scope) if self._judge else None
        if scope["bbops"].by_cookie and not may_use_cookie(scope, self.origins):
            return None
        return token

    def now(self) -> float:
        """Return the time in seconds since 1970."""
        assert self._judge is not None  # noqa: S101 - somebody has connected
        return float(self._judge.answering.host.clock.now().timestamp())

    # ---- deciding
    async def judge(self, name: str, identity: Identity) -> tuple[Topic, Params, Verdict]:
        """Return what somebody may do on a topic.

        Raises:
            Refused: nothing, or that cannot be said now.
        """
        while True:
            await self._hold()
            topics, judge = self.topics, self._judge
            found = topics.find(name)
            if found is None or judge is None:
                raise Refused(UNKNOWN, "unknown topic")
            try:
                verdict = await judge.judge(*found, identity)
            except Exception as error:  # noqa: BLE001 - of one client; others are not touched
                judge.surprise(error, identity)
                raise refusal_of(error) from None
            if topics is self.topics:  # else a release went live meanwhile
                return *found, verdict

    async def admit(self, name: str, identity: Identity) -> tuple[Topic, Params, Verdict]:
        """Do as `judge`, for who wants to subscribe. Raises: Refused: it may not."""
        found = await self.judge(name, identity)
        if not found[2].may_subscribe:
            raise Refused(DENIED, "permission denied")
        return found

    async def judge_again(self, one: Subscription) -> None:
        """Keep a subscription, or end it."""
        try:
            topic, params, verdict = await self.admit(one.name, one.owner.identity)
        except Refused as refused:
            self.end(one, LOST if refused.is_temporary else ENDED)
            return
        if not one.is_live:
            return
        before = one.topic
        if topic.is_counted != before.is_counted or topic.history != before.history or (
            (topic.rows is None) is not (before.rows is None)
        ):  # fmt: skip
            self.end(one, LOST)  # it comes back as the topic now is
            return
        one.topic, one.params, one.verdict = topic, params, verdict
        self.sight.move(one)
        self.rejudging.plan(one)

    # ---- subscriptions
    async def subscribe(
        self, one: Subscription, done: Done,
        *, recover: bool = False, epoch: str = "", offset: int = 0,
    ) -> None:  # fmt: skip
        """Let a subscription begin.

        Args:
            done: is called as it begins, ahead of its first message; with None where nothing of
                the topic is counted.

        Raises:
            Refused: it does not.
        """
        if one.topic.rows is not None:
            await self._show_rows(one, done, recover=recover, epoch=epoch, offset=offset)
        elif one.topic.is_counted:
            await self._join(one, done, recover=recover, epoch=epoch, offset=offset)
        else:
            self._begin(one)
            done(None)

    async def _show_rows(
        self, one: Subscription, done: Done, *, recover: bool, epoch: str, offset: int
    ) -> None:
        """Let a subscription to rows begin; arguments and errors as those of `subscribe`."""
        if one.topic.show is not None:
            await self._join(one, _nothing, recover=False, epoch="", offset=0)
        else:
            if not await self._end.ready():
                raise Refused(INTERNAL, NO_CENTER, is_temporary=True)
            self._begin(one)
        try:
            assert self._judge is not None  # noqa: S101 - it was let in
            database = self._judge.answering.host.database
            since = (epoch, offset) if recover else None
            await self.sight.begin(one, database, since, done)
        except Exception as error:  # noqa: BLE001 - of one client, as in `judge`
            self.leave(one)
            raise refusal_of(error) from None

    async def _join(
        self, one: Subscription, done: Done, *, recover: bool, epoch: str, offset: int
    ) -> None:
        """Let a subscription to a counted topic begin; arguments as those of `subscribe`."""
        if not await self._end.ready():
            raise Refused(INTERNAL, NO_CENTER, is_temporary=True)
        joined: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def on_seen(seen: Seen | None) -> None:
            if joined.done() or one.owner.is_closed:
                if seen is not None and not seen.refusal:  # its client has left meanwhile
                    self._end.part(self.project, one.name, one.owner.client)
                joined.cancel()
            elif seen is None:
                joined.set_exception(Refused(INTERNAL, NO_CENTER, is_temporary=True))
            elif seen.refusal:
                joined.set_exception(Refused(LIMIT, seen.refusal))
            else:
                one.epoch = seen.epoch
                done(seen)
                self._begin(one)
                joined.set_result(None)

        kept = one.topic.history if one.topic.rows is None else None
        kept = kept or Kept(0, 0.0)
        shown = None if one.topic.show is None else msgspec.json.encode(one.verdict.shown)
        self._end.join(
            on_seen, project=self.project, name=one.name, client=one.owner.client, shown=shown,
            size=kept.size, seconds=kept.seconds, recover=recover, epoch=epoch, offset=offset,
        )  # fmt: skip
        await joined

    def _begin(self, one: Subscription) -> None:
        self.rooms.add(one)
        self.rejudging.plan(one)

    def leave(self, one: Subscription) -> None:
        """Take a subscription away."""
        self.sight.remove(one)
        if self.rooms.remove(one) and one.topic.is_counted:
            self._end.part(self.project, one.name, one.owner.client)

    def end(self, one: Subscription, why: Closing) -> None:
        """Take a subscription away, and say so to its client."""
        if one.is_live:
            self.leave(one)
            one.owner.tell_end(one.name, why)

    # ---- messages
    async def publish(self, topic: Topic, name: str, data: bytes) -> None:
        """Send a message of a client. Raises: Refused: it cannot be sent now."""
        if topic.is_counted and not await self._end.ready():
            raise Refused(INTERNAL, NO_CENTER, is_temporary=True)
        self._end.publish(self.project, name, data, topic.history, is_counted=topic.is_counted)

    async def look(self, name: str, **given: Any) -> Seen:
        """Return who is there and what is kept. Raises: Refused: that cannot be said now."""
        if not await self._end.ready():
            raise Refused(INTERNAL, NO_CENTER, is_temporary=True)
        seen = await self._end.look(self.project, name, **given)
        if seen is None:
            raise Refused(INTERNAL, NO_CENTER, is_temporary=True)
        return seen

    def deliver(self, name: str, data: bytes, offset: int) -> None:
        """Give a message to the subscribers of a topic."""
        self.rooms.deliver(name, data, offset)

    def move(self, moved: Moved) -> None:
        """Tell the subscribers of a topic who has come or gone."""
        shown = msgspec.Raw(moved.shown)
        self.rooms.move(moved.name, moved.client, shown, is_there=moved.is_there)

    def change(self, changed: Changed) -> None:
        """Show a changed row to those who may see it."""
        self.sight.change(self.topics, changed)

    def fail(self, one: Subscription, error: Exception) -> None:
        """End a subscription whose rule fails, alone; the log says where."""
        if self._judge is not None:
            self._judge.surprise(error, one.owner.identity)
        self.end(one, FAILED)

    def lose(self) -> None:
        """Let subscribers come back of whom nobody knows what they have missed."""
        for one in self.rooms.every:
            if one.topic.is_counted or one.topic.rows is not None:
                self.end(one, LOST)

    # ---- connections
    def close(self, why: Closing = SHUTDOWN) -> None:
        """End every connection."""
        self.rejudging.close()
        for one in tuple(self.connections):
            one.close(why)


# ---- Ask each client for a sign of life, a part of them each second; without clients no timer
# runs

_AT_ONCE: Final = 100
_SECOND: Final = 1.0


class Pinged(Protocol):
    """A client that is asked."""

    def ping(self) -> bool:
        """Ask it; return False where it has not answered before."""
        ...

    def close(self, why: Closing) -> None:
        """End its connection."""
        ...


class Pinging:
    """All clients of a hub, by the second in which they are asked."""

    def __init__(self) -> None:
        self._slots: list[set[Pinged]] = [set() for _ in range(PING_SECONDS)]
        self._next = cycle(self._slots)
        self._task: asyncio.Task[None] | None = None

    def add(self, one: Pinged) -> None:
        """Ask a client from now on."""
        min(self._slots, key=len).add(one)
        if self._task is None:
            self._task = asyncio.create_task(self._keep_asking())

    def discard(self, one: Pinged) -> None:
        """Ask it no more."""
        for slot in self._slots:
            slot.discard(one)

    async def _keep_asking(self) -> None:
        for slot in self._next:
            await asyncio.sleep(_SECOND)
            for number, one in enumerate(tuple(slot)):
                if not one.ping():
                    one.close(NO_PONG)
                if number % _AT_ONCE == _AT_ONCE - 1:
                    await asyncio.sleep(0)
            if not any(self._slots):
                break
        self._task = None
