"""Lines on their way to the terminal of `bbops dev`: no more of them wait than it can print."""

from __future__ import annotations

from typing import Final

import msgspec

from bbops_server.process.messages.channel import ProcessChannel
from bbops_server.process.messages.reports import LinesMissed, MessagePublished
from bbops_server.process.messages.request import EventMessage

MOST_WAITING: Final = 500
"""Lines that wait for a terminal which is slower than what happens; others are only counted."""


class Lines:
    """What one process reports."""

    def __init__(self, channel: ProcessChannel) -> None:
        """`channel` leads to the process that prints."""
        self._channel, self._missed = channel, 0

    def tell(self, event: EventMessage) -> None:
        """Report something."""
        if self._channel.waiting >= MOST_WAITING:
            self._missed += 1
            return
        if self._missed:
            self._channel.post(LinesMissed(self._missed))
            self._missed = 0
        self._channel.post(event)

    def published(self, topic: str, data: bytes) -> None:
        """Report a message of a topic; what it holds is not told."""
        self.tell(MessagePublished(topic, _NAME(data).event))


class _Message(msgspec.Struct):
    event: str


_NAME: Final = msgspec.json.Decoder(_Message).decode
