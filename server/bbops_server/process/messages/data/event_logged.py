"""An event was emitted, or a row has changed: what `bbops dev` prints."""

from __future__ import annotations

from bbops_server.process.messages.request import Event


class EventLogged(Event, frozen=True):
    """An event was emitted, or a row has changed: what `bbops dev` prints.

    Attributes:
        name: of the event; of a row its table and what has happened to it.
        starts: the triggers that it starts.
    """

    name: str
    starts: list[str]
