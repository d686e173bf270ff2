"""The normal form of UUIDs, times of day and dates as texts, for writes and comparisons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from bbops.runtime.values.failures import BadValue
from bbops.runtime.values.formats import parse_time, parse_uuid
from bbops.runtime.values.times import parse_date
from bbops.runtime.values.values import kind


def _parse_date(text: str) -> str | None:
    found = parse_date(text)
    return None if found is None else found.isoformat()


PARSERS: Final[dict[str, Callable[[str], str | None]]] = {
    "uuid": parse_uuid, "time": parse_time, "date": _parse_date,
}  # fmt: skip
"""By column type: returns the normal form of a text, or None for a text of another type."""
EXAMPLES: Final = {
    "uuid": "a uuid", "time": "a time such as 08:30", "date": "a date such as 2026-03-05",
}  # fmt: skip
"""How messages name a value of each type."""


def formed(value: Any, form: str, field: str = "") -> Any:
    """Return a text in the normal form of a type; other kinds stay as they are.

    Args:
        value: may be null.
        form: the type: `uuid`, `time` or `date`.
        field: of the request, which gave the value; empty where it is not known.

    Raises:
        BadValue: the text is not of that type.
    """
    if type(value) is not str:
        return value
    found = PARSERS[form](value)
    if found is None:
        raise _unfit(value, form, field)
    return found


def formed_list(values: Any, form: str, field: str = "") -> Any:
    """Return a list whose texts are in the normal form of a type; raises as `formed`."""
    if type(values) is not list:
        return values
    return [formed(value, form, field) for value in values]


def bound(value: Any, form: str, field: str = "") -> str | None:
    """Return a text or null as a parameter beside a column of that type.

    Raises:
        BadValue: it is something else.
    """
    found = formed(value, form, field)
    if found is None or type(found) is str:
        return found
    raise _unfit(value, form, field)


def bound_list(values: Any, form: str, field: str = "") -> list[str | None]:
    """Return a list of texts as a parameter beside a column of that type.

    Raises:
        BadValue: it is not a list, or one of its members is something else.
    """
    if type(values) is not list:
        raise BadValue(f"'in' needs a list, got {kind(values)}", field, "must be a list")
    return [bound(value, form, field) for value in values]


def _unfit(value: Any, form: str, field: str) -> BadValue:
    wanted = EXAMPLES[form]
    found = "another text" if type(value) is str else kind(value)
    return BadValue(f"expected {wanted}, found {found}", field, f"must be {wanted}")
