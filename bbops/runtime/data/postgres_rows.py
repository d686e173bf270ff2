"""Values on their way into PostgreSQL and out of it; see `rows` and `writes` for SQLite.

A connection of ours gives and takes uuid and time as text in the form that SQLite stores; all
other types are Python's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

from bbops.runtime.data import rows as sqlite
from bbops.runtime.data import writes
from bbops.runtime.data.rows import (
    charged,
    check_searched,
    first,
    fit,
    from_boolean,
    from_date,
    from_datetime,
    from_decimal,
    from_hex,
    from_json,
    from_number,
    from_time,
    listed,
    row_count,
    to_binary,
    to_integer,
    to_json,
    to_number,
    to_text,
    to_time,
    to_uuid,
)
from bbops.runtime.values import formats
from bbops.runtime.values.failures import WrongKind
from bbops.runtime.values.filters import FILTERS
from bbops.runtime.values.formats import parse_time, parse_uuid
from bbops.runtime.values.operators import kind
from bbops.runtime.values.values import MAX_TEXT, check_size

__all__ = [
    "charged",
    "first",
    "fit",
    "from_boolean",
    "from_date",
    "from_datetime",
    "from_decimal",
    "from_hex",
    "from_json",
    "from_number",
    "from_time",
    "listed",
    "row_count",
    "to_binary",
    "to_integer",
    "to_json",
    "to_number",
    "to_text",
    "to_time",
    "to_uuid",
]


CASE_COLLATION: Final = "bbops_case"
"""Stands in compiled SQL for the server's rules for upper and lower case; no server has it."""

TOO_LONG: Final = "bbops:too-long:"
"""Begins the error of a computed text: the most characters and the column follow."""


# ---- columns
def to_decimal(value: Any, column: str) -> Any:
    """Encode for decimal."""
    found = sqlite.to_decimal(value, column)
    return None if found is None else Decimal(found)


def to_boolean(value: Any, column: str) -> Any:
    """Encode for boolean."""
    found = sqlite.to_boolean(value, column)
    return None if found is None else bool(found)


def to_datetime(value: Any, column: str) -> Any:
    """Encode for datetime; ISO 8601 text is read, without an offset as UTC."""
    found = sqlite.to_datetime(value, column)
    return None if found is None else datetime.fromisoformat(found)


def to_date(value: Any, column: str) -> Any:
    """Encode for date."""
    found = sqlite.to_date(value, column)
    return None if found is None else date.fromisoformat(found)


ENCODERS: dict[str, Callable[[Any, str], Any]] = sqlite.ENCODERS | {
    "decimal": to_decimal, "boolean": to_boolean, "datetime": to_datetime, "date": to_date,
}  # fmt: skip
"""By column type."""
DECODERS: dict[str, Callable[[Any], Any]] = {"json": from_json}
"""By column type; a type that is not here needs no decoding."""


def bind_datetime(value: datetime) -> datetime:
    """Return a time of the clock, which is in UTC, as it is stored."""
    return value


# ---- parameters
def bind_as(value: Any, of: str) -> Any:
    """Return a value as a parameter of kind `of`.

    What no value of that type equals, such as 2.5 of whole numbers, is null: it is tested for
    equality only.

    Raises:
        WrongKind: it is of another kind.
    """
    if value is None:
        return None
    if type(value) not in _FITS[of]:
        raise WrongKind(f"cannot compare {kind(value)} with a column of kind {of}")
    return _CONVERT[of](value)


bind_form = formats.bound
"""Return a text as a parameter beside a column of type uuid or time."""


def bind_forms(value: Any, form: str, field: str) -> list[Any]:
    """Return a list as `bind_list` does, to look for a uuid or a time in it."""
    return bind_list(formats.bound_list(value, form, field), form)


def bind_date(value: Any, field: str) -> date | None:
    """Return a date, or its text, as a parameter beside a column of dates."""
    found = sqlite.bind_date(value, field)
    return None if found is None else date.fromisoformat(found)


def bind_searched(value: Any, field: str) -> Any:
    """Return a text that is looked for in a column as a parameter; raises as that of `rows`."""
    check_searched(value, field)
    return bind_as(value, "text")


def bind_json(value: Any) -> str | None:
    """Return a value as a parameter beside the text of a json column."""
    found = sqlite.bind(value)
    return None if found is None else str(found)


def bind_list(value: Any, of: str) -> list[Any]:
    """Return a list as a parameter: of its members only those that could be found, and null."""
    if type(value) is not list:
        raise WrongKind(f"'in' needs a list, got {kind(value)}")
    check_size(value, MAX_TEXT)
    fits, convert = _FITS[of], _CONVERT[of]
    found = [convert(item) for item in value if type(item) in fits]
    out = [item for item in found if item is not None]
    return [*out, None] if None in value else out


# ---- an author's own statement
def bind_own(value: Any) -> Any:
    """Return a value as a parameter of an author's own statement; a list or map is its JSON."""
    return _json(value) if type(value) in {list, dict} else value


def own_rows(rows: list[dict[str, Any]], *, exact: bool) -> list[dict[str, Any]]:
    """Return rows of an author's own statement as SQLite gives them: times as text, 0 and 1.

    Args:
        exact: decimals are texts; else they are numbers, as sums of whole numbers should be.
    """
    return [{name: _stored(value, exact) for name, value in row.items()} for row in rows]


def _stored(value: Any, exact: bool) -> Any:
    of = type(value)
    if of in _AS_THEY_ARE:
        return value
    if of is Decimal and not exact:
        return int(value) if value == value.to_integral() and abs(value) < 2**63 else float(value)
    if of is datetime and value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    if of is list:
        return [_stored(item, exact) for item in value]
    return sqlite.bind(value) if of in _STORED else str(value)


_AS_THEY_ARE: Final = frozenset({str, int, float, bytes, type(None)})
_STORED: Final = frozenset({bool, datetime, date, Decimal})
_json = FILTERS["json"].apply


def _whole(value: float | Decimal) -> int | None:
    is_whole = -(2**63) <= value < 2**63 and value == int(value)
    return int(value) if is_whole else None


def _decimal(value: float | Decimal) -> Decimal:
    return value if type(value) is Decimal else Decimal(str(value))


def _same(value: Any) -> Any:
    return value


def _utc(value: datetime) -> datetime:
    return value.astimezone(UTC)


def _date(value: date | str) -> date | None:
    if type(value) is not str:
        return value  # type: ignore[return-value]  # the other kind
    try:
        found = date.fromisoformat(value)
    except ValueError:
        return None
    return found if found.isoformat() == value else None


def _uuid(value: str) -> str | None:
    return parse_uuid(value)


def _time(value: str) -> str | None:
    return parse_time(value)


_NUMBERS: Final = (int, float, Decimal)
_FITS: Final[dict[str, Sequence[type]]] = {
    "text": (str,), "uuid": (str,), "time": (str,), "integer": _NUMBERS, "number": _NUMBERS,
    "decimal": _NUMBERS, "boolean": (bool,), "datetime": (datetime,), "date": (date, str),
    "binary": (bytes,),
}  # fmt: skip
_CONVERT: Final[dict[str, Callable[[Any], Any]]] = {
    "text": _same, "uuid": _uuid, "time": _time, "integer": _whole, "number": float,
    "decimal": _decimal, "boolean": _same, "datetime": _utc, "date": _date, "binary": _same,
}  # fmt: skip


class Setter(writes.Setter):
    """Executor a map into the SET clause of an update."""

    __slots__ = ()
    encoders = ENCODERS


class Inserter(writes.Inserter):
    """Executor a map, or a list of maps, into inserts of one transaction."""

    __slots__ = ()
    encoders = ENCODERS
    decoders = DECODERS
