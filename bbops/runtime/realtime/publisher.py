"""Where the step `publish` goes: the topic's name, its message, and whoever carries it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from bbops.base.host import Events
from bbops.runtime.realtime.topics import Kept, Topics, tell_agents, write_message


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
