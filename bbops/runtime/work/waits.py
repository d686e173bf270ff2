"""Which waiting jobs an event is of interest to: those whose value it holds somewhere.

A job says what an event must hold, such as the number of its order; the pump wakes only those whose
value occurs in the payload. The job itself decides then, with its whole condition.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

ANY_VALUE: Final = ""
"""A job that any event of a name may be of interest to."""

_MOST_TEXT: Final = 100


def awaited_value(value: Any) -> str:
    """Return a value as it is compared; ANY_VALUE of one that is written in more than one way."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return f"#{value}"
        case float() if value.is_integer():
            return f"#{int(value)}"
        case str() if len(value) <= _MOST_TEXT and value.isprintable():
            return f"'{value}"
        case str():
            return f"%{hashlib.sha256(value.encode(errors='surrogatepass')).hexdigest()}"
    return ANY_VALUE


def wakes_of(events: Sequence[Sequence[Any]]) -> str:
    """Return as JSON which waiting jobs events are of interest to, of rows of the outbox."""
    return json.dumps([one for row in events if row[1] for one in wakes(row[1], row[3])])


def wakes(event: str, payload: str) -> Iterator[dict[str, str]]:
    """Yield what an event is of interest to: its name with each value of its payload."""
    try:
        found = json.loads(payload)
    except (ValueError, RecursionError):  # SQL has written it
        found = payload
    for value in dict.fromkeys((ANY_VALUE, *map(awaited_value, _values(found)))):
        yield {"event": event, "value": value}


def _values(found: Any) -> Iterator[Any]:
    """Yield the texts, numbers and flags of a payload, at any depth."""
    todo = [found]
    while todo:
        one = todo.pop()
        if isinstance(one, dict | list):
            todo += _inside(one)
        else:
            yield one


def _inside(found: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return found.values() if isinstance(found, dict) else found
