"""The shared part of `emit` and `publish`: the payload must fit its receivers."""

from __future__ import annotations

from bbops.base.diagnostics import suggest
from bbops.language.expressions.conversions import conversion
from bbops.language.expressions.types import Type, find_misfit
from bbops.language.expressions.values import MapValue, Value
from bbops.language.steps._checking import Checking, mark_of
from bbops.source.yaml.document import Mark


def check_payload(
    at: Checking, value: Value | None, of: Type, wanted: Type, what: str, place: Mark | None
) -> None:
    """Report a checked payload that does not fit the shape of an event."""
    if isinstance(value, MapValue) and _has_misspelt(at, value, wanted, what):
        return
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
        hint = "add '| default(…)', or '?' after its type"
        at.report(place, "maybe-null", f"{who} takes no null, and this may be null", hint)
        return
    message = f"{who} needs {found.wanted}, got {found.found}"
    at.report(place, "type", message, conversion(found.found, found.wanted))


def refuse_unknown(at: Checking, value: Value | None, wanted: Type, what: str) -> None:
    """Report the fields of a payload that no receiver declares."""
    for name, _ in value.items if isinstance(value, MapValue) else ():
        if name not in (wanted.fields or ()):
            _report_unknown(at, value, name, what, suggest(name, wanted.fields or ()))


def _has_misspelt(at: Checking, value: MapValue, wanted: Type, what: str) -> bool:
    """Report the first field of a payload that looks like a misspelt missing one."""
    lacking = [name for name in wanted.fields or () if name not in dict(value.items)]
    for name, _ in value.items:
        hint = suggest(name, lacking) if name not in (wanted.fields or ()) else ""
        if hint:
            _report_unknown(at, value, name, what, hint)
            return True
    return False


def _report_unknown(at: Checking, value: Value | None, name: str, what: str, hint: str) -> None:
    keys = value.keys_at if isinstance(value, MapValue) else None
    message = f"{what} has no field '{name}'"
    at.report((keys or {}).get(name), "unknown-field", message, hint)
