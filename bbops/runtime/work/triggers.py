"""Which jobs an event makes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bbops.runtime.work.values import Event, NewJob


class Triggers:
    """The triggers of a release, by the events that they wait for."""

    def __init__(self, triggers: Iterable[tuple[str, str]]) -> None:
        """`triggers` are pairs of a trigger's work and its event."""
        found = dict[str, list[str]]()
        for work, event in triggers:
            found.setdefault(event, []).append(work)
        self._by_event: Mapping[str, Sequence[str]] = found

    def route(self, event: Event) -> list[NewJob]:
        """Return a job for each trigger of an event."""
        wanted = self._by_event.get(event.name, ())
        if not wanted:
            return []
        payload = json.dumps({"name": event.name, "payload": _read(event.payload)})
        return [NewJob(f"{work}@{event.id}", work, payload, cause=event.cause) for work in wanted]


def _read(payload: str) -> Any:
    """Return a payload; what SQL has written that is not JSON is a text."""
    try:
        return json.loads(payload)
    except ValueError:
        return payload
