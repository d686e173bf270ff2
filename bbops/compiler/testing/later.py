"""Events that a case lets happen while its jobs wait."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from bbops.base.host import Host
from bbops.compiler.testing.comparing import plain
from bbops.compiler.testing.values import compute
from bbops.language.resources.test import LaterEvent
from bbops.runtime.values.units import seconds

GIVEN: Final = "given by the case"
"""The key of events that no function has emitted."""


@dataclass(frozen=True, slots=True)
class Coming:
    """An event, and when it happens in milliseconds since 1970."""

    at: int
    name: str
    payload: str


def coming_events(events: Iterable[LaterEvent], host: Host) -> list[Coming]:
    """Return the events of a case that begins now, in the order in which they happen.

    Raises:
        Failure: a payload cannot be computed.
    """
    return sorted(_coming(events, host), key=lambda one: one.at)


def _coming(events: Iterable[LaterEvent], host: Host) -> Iterator[Coming]:
    began: datetime = host.clock.now()
    for one in events:
        after = seconds(one.after) if one.after else 0.0
        payload = None if one.payload is None else plain(compute(one.payload, host))
        at = round(1000 * (began.timestamp() + after))
        yield Coming(at, one.event, json.dumps(payload))
