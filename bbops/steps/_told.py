"""What `emit` and `publish` share: the payload must fit who is told."""

from __future__ import annotations

from bbops.expressions.conversions import conversion
from bbops.expressions.types import Type, find_misfit
from bbops.expressions.values import MapValue, Value
from bbops.steps._checking import Checking, mark_of
from bbops.yaml.document import Mark


def check_payload(
    at: Checking, value: Value | None, of: Type, wanted: Type, what: str, place: Mark | None
) -> None:
    """Report a checked payload that does not fit the shape of an event."""
    found = find_misfit(of, wanted)
    if found is None:
        return
    given = dict(value.items) if isinstance(value, MapValue) else {}
    name = found.path.lstrip(".").partition(".")[0].partition("[")[0]
    place = mark_of(given.get(name)) or mark_of(value) or place
    who = f"field '{found.path.lstrip('.')}' of {what}" if found.path else what
    if value is None or (name and name not in given and of.fields is not None):
        missing = f"'{name}'" if name else "a payload"
        at.report(place, "missing-argument", f"{what} needs {missing}")
        return
    if found.is_null:
        hint = "add '| default(…)', or '?' behind its type"
        at.report(place, "maybe-null", f"{who} takes no null, and this may be null", hint)
        return
    message = f"{who} needs {found.wanted}, got {found.found}"
    at.report(place, "type", message, conversion(found.found, found.wanted))
