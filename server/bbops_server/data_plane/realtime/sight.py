"""Who sees which changes of rows: an index of subscriptions by what their rows have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from bbops.base.host import Database
from bbops.runtime.realtime.rows import EPOCH, Change
from bbops.runtime.realtime.rows import Seen as SeenRow
from bbops.runtime.realtime.topics import Topic, Topics, write_message
from bbops.runtime.values.failures import BadValue
from bbops_server.data_plane.realtime import protocol
from bbops_server.data_plane.realtime.codes import Refused
from bbops_server.data_plane.realtime.fanout.frames import Changed, Numbered, Seen
from bbops_server.data_plane.realtime.rooms import Place, Subscription, Told

NO_ROWS: Final = "{}"
_NOW: Final = (
    "SELECT (SELECT text FROM _bbops_notes WHERE name = ?),"
    " (SELECT coalesce(max(seq), 0) FROM _bbops_events),"
    " (SELECT coalesce(min(seq), 0) FROM _bbops_events)"
)
_MISSED: Final = (
    "SELECT seq, name, payload FROM _bbops_events"
    " WHERE name IN (?, ?, ?) AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
)

Done = Callable[[Seen | None], None]


class Sight:
    """The subscriptions of a hub that see changes of rows."""

    def __init__(
        self, fail: Callable[[Subscription, Exception], None],
        lose: Callable[[Subscription], None],
    ) -> None:  # fmt: skip
        """Begin without any.

        Args:
            fail: ends a subscription whose rule fails.
            lose: lets one come back that missed something.
        """
        self._fail, self._lose = fail, lose
        self._by_key: dict[str, dict[Any, dict[str, Subscription]]] = {}

    # ---- subscriptions
    async def begin(
        self, one: Subscription, database: Database, since: tuple[str, int] | None, done: Done
    ) -> None:
        """Show a subscription what it has missed, and what comes.

        Args:
            one: is live.
            database: whose log is read.
            since: epoch and number of the last change that it has seen; None without one.
            done: is called with what it has missed.

        Raises:
            Exception: whatever its rule raises.
        """
        self._add(one)
        ((epoch, newest, oldest),) = await database.read(_NOW, (EPOCH,))
        if epoch is None:
            raise Refused(100, "changes are not reported yet", is_temporary=True)
        missed: list[Numbered] | None = None
        if since is not None and since[0] == epoch and oldest <= since[1] + 1 <= newest + 1:
            missed = await _missed(one, database, since[1], newest)
        place = one.place
        if place is None:  # it has ended meanwhile
            return
        one.epoch = epoch
        done(Seen(0, epoch, newest, missed is not None, missed or []))
        waiting, place.waiting, place.seen = place.waiting or [], None, newest
        for number, told in waiting:
            if number > newest:
                one.owner.tell(told)

    def move(self, one: Subscription) -> None:
        """Take note that a subscription was judged again: its rows may be others."""
        if one.place is not None:
            waiting, seen = one.place.waiting, one.place.seen
            self.remove(one)
            try:
                self._add(one)
            except Exception as error:  # noqa: BLE001 - it takes no other along
                self._fail(one, error)
                return
            assert one.place is not None  # noqa: S101 - just added
            one.place.waiting, one.place.seen = waiting, seen

    def _add(self, one: Subscription) -> None:
        rule = one.topic.rows
        assert rule is not None  # noqa: S101 - or it is not here
        key = () if rule.key is None else rule.key(one.verdict.values)
        one.place = Place(key)
        topic = self._by_key.setdefault(one.topic.name, {})
        topic.setdefault(key, {})[_name(one)] = one

    def remove(self, one: Subscription) -> None:
        """Show a subscription nothing more."""
        if one.place is None:
            return
        topic = self._by_key.get(one.topic.name, {})
        found = topic.get(one.place.key, {})
        found.pop(_name(one), None)
        if not found:
            topic.pop(one.place.key, None)
        one.place = None

    # ---- changes
    def change(self, topics: Topics, changed: Changed) -> None:
        """Show a change to those who may see it."""
        for topic in topics.on_rows(changed.event):
            if topic.name in self._by_key:
                self._change(topic, changed)

    def _change(self, topic: Topic, changed: Changed) -> None:
        rule = topic.rows
        assert rule is not None  # noqa: S101 - it is about rows
        try:
            change = rule.change(changed.payload)
        except Exception:  # noqa: BLE001 - of a table that has changed meanwhile
            for one in [*self._every(topic)]:
                self._lose(one)
            return
        told: dict[tuple[str, str], Told] = {}
        for one in self._who(topic, change):
            self._show(one, change, changed.seq, told)

    def _every(self, topic: Topic) -> Iterator[Subscription]:
        for found in self._by_key.get(topic.name, {}).values():
            yield from found.values()

    def _who(self, topic: Topic, change: Change) -> list[Subscription]:
        """Return those who may see a change, by what their rows have in common."""
        rule, by_key = topic.rows, self._by_key[topic.name]
        assert rule is not None  # noqa: S101 - as above
        if not rule.key_columns:
            return [*self._every(topic)]
        return [one for key in rule.keys_of(change) for one in by_key.get(key, {}).values()]

    def _show(
        self, one: Subscription, change: Change, number: int, told: dict[tuple[str, str], Told]
    ) -> None:
        place, rule = one.place, one.topic.rows
        if place is None or rule is None or (place.waiting is None and number <= place.seen):
            return
        try:
            seen = rule.sees(one.verdict.values, change)
        except Exception as error:  # noqa: BLE001 - of one subscriber; others are not touched
            self._fail(one, error)
            return
        if seen is None:
            return
        key = one.name, seen.event
        if key not in told:
            told[key] = _told(one, seen, number)
        if not told[key].data:
            self._lose(one)
        elif place.waiting is None:
            place.seen = number
            one.owner.tell(told[key])
        else:
            place.waiting.append((number, told[key]))


async def _missed(
    one: Subscription, database: Database, after: int, newest: int
) -> list[Numbered] | None:
    """Return what a subscription has missed; None where that is not known any more."""
    rule, history = one.topic.rows, one.topic.history
    if rule is None or history is None:
        return None
    most = history.size
    rows = await database.read(_MISSED, (*rule.events, after, newest, most + 1))
    if len(rows) > most or any(payload == NO_ROWS for _, _, payload in rows):
        return None
    found = list[Numbered]()
    for number, _, payload in rows:
        try:
            change = rule.change(payload)
        except Exception:  # noqa: BLE001 - the table has changed since
            return None
        seen = rule.sees(one.verdict.values, change)
        if seen is not None:
            data = _write(seen)
            if not data:
                return None
            found.append((number, data))
    return found


def _told(one: Subscription, seen: SeenRow, number: int) -> Told:
    data = _write(seen)
    offset = number if one.topic.history is not None else 0
    return Told(protocol.push(one.name, pub=protocol.publication(data, offset)), data, offset)


def _write(seen: SeenRow) -> bytes:
    """Return a message; empty for a row that is larger than messages may be."""
    try:
        return write_message(seen.event, seen.payload)
    except BadValue:
        return b""


def _name(one: Subscription) -> str:
    return f"{one.owner.client} {one.name}"
