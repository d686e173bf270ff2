"""A terminal is too slow for what happens: what `bbops dev` prints."""

from __future__ import annotations

from bbops_server.process.messages.request import Event


class LinesMissed(Event, frozen=True):
    """A terminal is too slow for what happens: so many lines are not shown."""

    count: int
