"""The topics of a release: their names, their messages, and the publisher of the step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.parse import quote

from bbops.base.host import Events
from bbops.runtime.flow.run import Function, Run, Shape
from bbops.runtime.http.responses import encode
from bbops.runtime.http.routes import RouteTable
from bbops.runtime.realtime.rows import RowsRule
from bbops.runtime.values.failures import BadValue, InvalidInput
from bbops.runtime.values.operators import kind, text
from bbops.runtime.work.webhooks import message_event

MOST_BYTES: Final = 64 << 10
"""Of one message."""

MOST_NAME: Final = 500
"""Characters in the name of a topic."""

Params = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Kept:
    """How many messages are kept, and for how long."""

    size: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Topic:
    """A file of `realtime/`, linked.

    Attributes:
        name: of the file.
        pattern: its segments; those of parameters begin with `:`.
        needs_user: whether only who is signed in may ask.
        middleware: runs before `subscribe` and `publish` are asked.
        subscribe: says of a run, in which middleware has run, whether it may subscribe.
        publish: says whether it may publish.
        show: gives what others see of a subscriber; None where nobody is shown.
        events: shapes of payloads, by the names of events.
        history: None where no message is kept.
        recheck_seconds: how often a subscriber is judged again; None where only time passes.
        rows: the rows whose changes are its messages; None where messages are published.
        heard: the events whose messages start agents.
    """

    name: str
    pattern: tuple[str, ...]
    needs_user: bool
    middleware: Sequence[Function]
    subscribe: Callable[[Run], Any]
    publish: Callable[[Run], Any]
    show: Callable[[Run], Any] | None
    events: Mapping[str, Shape]
    history: Kept | None
    recheck_seconds: float | None
    rows: RowsRule | None = None
    heard: frozenset[str] = frozenset()

    @property
    def is_counted(self) -> bool:
        """Whether one place numbers its messages, or knows who is there.

        Changes of rows have the numbers of the log.
        """
        return (self.history is not None and self.rows is None) or self.show is not None

    def name_of(self, params: Mapping[str, Any]) -> str:
        """Return the name of the topic with these parameters, such as `boards/7`.

        Raises:
            BadValue: a parameter is missing, unknown, or cannot stand in a name.
        """
        wanted = {part[1:] for part in self.pattern if part[:1] == ":"}
        if params.keys() != wanted:
            listed = ", ".join(sorted(params)) or "none"
            raise BadValue(f"realtime '{self.name}' needs params {sorted(wanted)}, got {listed}")
        parts = (_part(part, params) if part[:1] == ":" else part for part in self.pattern)
        name = "/".join(parts)
        if len(name) > MOST_NAME:
            raise BadValue(f"the name of a topic has {MOST_NAME} characters at most")
        return name

    def check(self, event: str, payload: Any) -> Any:
        """Return the payload of a client's message, as its shape types it.

        Raises:
            InvalidInput: the topic has no such event, or the payload does not fit.
        """
        shape = self.events.get(event)
        if shape is None:
            raise InvalidInput({}, f"the topic has no event '{event[:100]}'")
        errors = dict[str, list[str]]()
        typed = shape({} if payload is None else payload, "", errors)
        if errors:
            wrong = "; ".join(f"'{path}' {texts[0]}" for path, texts in errors.items())
            raise InvalidInput(errors, f"the payload does not fit the event: {wrong}")
        return typed


class Topics:
    """All topics of a release."""

    def __init__(self, topics: Iterable[Topic]) -> None:
        self._by_file = {one.name: one for one in topics}
        self._table: RouteTable[Topic] = RouteTable(
            ("GET", "/" + "/".join(one.pattern), one) for one in self._by_file.values()
        )

    def __bool__(self) -> bool:
        return bool(self._by_file)

    @property
    def need_center(self) -> bool:
        """Whether some topic has one place that numbers its messages, or knows who is there."""
        return any(one.is_counted for one in self._by_file.values())

    def on_rows(self, event: str) -> list[Topic]:
        """Return the topics that show a change of rows, by its name in the log."""
        every = self._by_file.values()
        return [one for one in every if one.rows is not None and event in one.rows.events]

    def find(self, name: str) -> tuple[Topic, Params] | None:
        """Return the topic of a name and its parameters; None where there is none.

        A name has one spelling: parameters are percent-encoded in it, see `encode_part`.
        """
        if len(name) > MOST_NAME or "\0" in name:
            return None
        topic, params = self._table.match("GET", f"/{name}")
        if topic is None:
            return None
        assert isinstance(params, dict)  # noqa: S101 - there is a target
        if any("\0" in one for one in params.values()):
            return None
        try:
            is_spelt = topic.name_of(params) == name
        except BadValue:  # longer, once it is encoded
            return None
        return (topic, params) if is_spelt else None

    def of_file(self, name: str) -> Topic:
        """Return the topic of a file; the check has seen that it exists."""
        return self._by_file[name]


async def tell_agents(events: Events | None, topic: Topic, event: str, payload: Any) -> None:
    """Emit the event of a published message, where it starts an agent.

    Raises:
        Failure: it cannot be written.
    """
    if event in topic.heard and events is not None:
        await events.emit(message_event(topic.name, event), payload)


def write_message(event: str, payload: Any) -> bytes:
    """Return a message as it is sent.

    Raises:
        BadValue: it is too large.
        Failure: it cannot be written as JSON.
    """
    data = encode({"event": event, "payload": payload})
    if len(data) > MOST_BYTES:
        raise BadValue(f"a message has {MOST_BYTES:,} bytes at most, this one has {len(data):,}")
    return data


def _part(part: str, params: Mapping[str, Any]) -> str:
    value = params[part[1:]]
    if type(value) is bool or value is None or isinstance(value, dict | list):
        raise BadValue(f"params '{part[1:]}' needs a text or a number, got {kind(value)}")
    given = text(value)
    if not given or "\0" in given:
        raise BadValue(f"params '{part[1:]}' must not be empty")
    return encode_part(given)


def encode_part(text: str) -> str:
    """Return a parameter as it stands in a name: as `encodeURIComponent` of a browser writes it."""
    return quote(text, safe="!'()*")


class Carrier(Protocol):
    """Carries messages to subscribers, wherever they are connected."""

    def publish(
        self, name: str, data: bytes, kept: Kept | None, *, is_counted: bool
    ) -> None:  # fmt: skip
        """Send a message to whoever has subscribed to a topic, at most once.

        Args:
            name: of the topic, with its parameters.
            data: the message as JSON.
            kept: how its history is kept; None where it has none.
            is_counted: one place numbers its messages, or knows who is there.
        """
        ...


class Publisher:
    """The door of one release, see `bbops.base.host.Realtime`."""

    def __init__(self, carrier: Carrier) -> None:
        """The release that is linked with this door sets its topics and its events."""
        self.topics = Topics(())
        self.events: Events | None = None
        self._carrier = carrier

    async def publish(
        self, realtime: str, params: Mapping[str, Any], event: str, payload: Any
    ) -> None:
        """Send a message to a topic.

        Raises:
            BadValue: a parameter cannot stand in a name, or the message is too large.
        """
        topic = self.topics.of_file(realtime)
        name, data = topic.name_of(params), write_message(event, payload)
        await tell_agents(self.events, topic, event, payload)
        self._carrier.publish(name, data, topic.history, is_counted=topic.is_counted)
