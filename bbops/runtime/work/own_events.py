"""Events that bbops emits itself; nobody else may."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

ENTITY: Final = "bbops"
"""Of all of them."""

JOB_DEAD: Final = "bbops.job-dead"
TASK_MISSED: Final = "bbops.task-missed"
RECEIVER_DISABLED: Final = "bbops.receiver-disabled"

OWN_EVENTS: Final[Mapping[str, Sequence[str]]] = {
    JOB_DEAD: ("job", "work", "error", "attempts"),
    TASK_MISSED: ("task", "first", "last", "count"),
    RECEIVER_DISABLED: ("webhook", "receiver", "reason"),
}
"""The fields of what each of them brings."""


def is_reserved(event: str) -> bool:
    """Return whether only bbops may emit an event."""
    return event.partition(".")[0] == ENTITY
