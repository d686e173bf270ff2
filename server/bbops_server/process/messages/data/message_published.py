"""A message was published on a topic: what `bbops dev` prints."""

from __future__ import annotations

from bbops_server.process.messages.request import Event


class MessagePublished(Event, frozen=True):
    """A message was published on a topic: what `bbops dev` prints.

    Attributes:
        topic: its name with its parameters, such as `boards/7`.
        name: of the event, such as `note.added`.
    """

    topic: str
    name: str
