"""Values on their way into the database and out of it, by column type."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import msgspec

from bbops.runtime.values import decimals, formats
from bbops.runtime.values.decimals import parse_decimal
from bbops.runtime.values.failures import BadValue, FlowError, Thrown, TooLong, WrongKind
from bbops.runtime.values.filters import FILTERS
from bbops.runtime.values.formats import HAS_NUL, parse_time, parse_uuid
from bbops.runtime.values.operators import kind
from bbops.runtime.values.values import MAX_TEXT, check_size, spend

MAX_JSON = 10_000_000
"""Characters and members of a value in a column of type json."""
LONGEST = {"string": 10_000, "text": 100_000}
"""Characters of a text on its way into a column of that type which says no `maxLength`."""
LONGEST_SEARCHED = 1_000
"""Characters of a text that is looked for in a column; the cost is the product of both."""
MOST_ROWS = 100_000
"""More rows than this do not come back from one read."""
_FEW_ROWS = 64
_SHORT = 4_096
_encode_json = msgspec.json.Encoder().encode
_decode_json = msgspec.json.Decoder().decode


def stored_datetime(value: datetime) -> str:
    """Return a time in the one fixed-width form whose text order is the order of time."""
    return bind_datetime(value if value.tzinfo is UTC else value.astimezone(UTC))


def bind_datetime(value: datetime) -> str:
    """Return a time in UTC, such as the clock's, as it is stored."""
    text = _encode_json(value)[1:-1].decode()  # a fifth of what `isoformat` takes
    return text if value.microsecond else f"{text[:-1]}.000000Z"


def bind(value: Any) -> Any:
    """Return a value as a parameter of a comparison."""
    of = type(value)
    if of is str or of is int or value is None or of is float:
        return value
    if of is bool:
        return int(value)
    if of is datetime:
        return stored_datetime(value)
    if of is date:
        return value.isoformat()
    if of is Decimal:
        return format(value, "f")
    if of is bytes:
        return value
    raise WrongKind(f"a {kind(value)} cannot be compared with a column")


_FITS: dict[str, tuple[type, ...]] = {
    "text": (str,), "integer": (int, float, Decimal), "number": (int, float, Decimal),
    "decimal": (int, float, Decimal), "boolean": (bool,), "datetime": (datetime,),
    "date": (date, str), "binary": (bytes,),
}  # fmt: skip


def bind_as(value: Any, of: str) -> Any:
    """Return a value nothing is known of as a parameter beside a column of kind `of`.

    Raises:
        WrongKind: it is of another kind; a database would compare the two anyway.
    """
    if value is not None and type(value) not in _FITS.get(of, (type(value),)):
        raise WrongKind(f"cannot compare {kind(value)} with a column of kind {of}")
    return bind(value)


bind_form = formats.bound
"""Return a text as a parameter beside a column of type uuid or time."""


def bind_forms(value: Any, form: str, field: str) -> str:
    """Return a list as `bind_list` does, to look for a uuid or a time in it."""
    return bind_list(formats.bound_list(value, form, field))


def bind_date(value: Any, field: str) -> str | None:
    """Return a date, or its text, as a parameter beside a column of dates.

    Raises:
        BadValue: it is something else; `field` of the request gave it.
    """
    if type(value) is date:
        return value.isoformat()
    return formats.bound(value, "date", field)


def bind_searched(value: Any, field: str) -> Any:
    """Return a text that is looked for in a column as a parameter.

    Raises:
        TooLong: it is longer than LONGEST_SEARCHED; `field` of the request gave it.
    """
    check_searched(value, field)
    return bind_as(value, "text")


def check_searched(value: Any, field: str) -> None:
    """Refuse a text that is too long to be looked for; raises as `bind_searched`."""
    if type(value) is str and len(value) > LONGEST_SEARCHED:
        raise TooLong(field, LONGEST_SEARCHED, "the search text is too long")


def fit(value: Any, column: str, most: int) -> Any:
    """Return a text or null on its way into a column.

    Raises:
        TooLong: it has more characters than a column takes that says no `maxLength`.
        BadValue: it has a NUL character.
        FlowError: it is neither.
    """
    if value is None or (type(value) is str and len(value) <= most and "\0" not in value):
        return value
    to_text(value, column)
    raise too_long(column, most)


def too_long(column: str, most: int) -> TooLong:
    """Return what to raise for a text that a column does not take."""
    name = column.rpartition(".")[2]
    return TooLong(name, most, f"'{name}' is too long")


def bind_list(value: Any) -> str:
    """Return a list as the one JSON parameter that `in` looks through."""
    if type(value) is not list:
        raise WrongKind(f"'in' needs a list, got {kind(value)}")
    check_size(value, MAX_TEXT)
    return _encode_json([bind(item) for item in value]).decode()


def bind_decimals(value: Any) -> str:
    """Return a list in which a decimal is looked for: numbers are texts, as decimals are."""
    if type(value) is list:
        value = [Decimal(str(item)) if type(item) in {int, float} else item for item in value]
    return bind_list(value)


def charged(rows: list[Any]) -> list[Any]:
    """Return what a query found; many rows cost fuel, so that no run can keep too many."""
    if len(rows) > _FEW_ROWS:
        spend(len(rows) >> 3)
    return rows


def row_count(value: Any, what: str, field: str = "") -> int:
    """Return `limit` or `offset`, which a `field` of the request may give, as a number of rows.

    Raises:
        BadValue: it is negative or no whole number.
    """
    if type(value) is int and 0 <= value < 2**63:
        return value
    message = f"'{what}' needs a whole number of at least 0"
    raise BadValue(f"{message}, got {kind(value)}", field, message)


def first(rows: list[Any], required: bool) -> Any:
    """Return the first row; without one null, or 404 where one is required."""
    if rows:
        return rows[0]
    if not required:
        return None

    raise Thrown(404)


def _wrong(value: Any, column: str, wanted: str) -> FlowError:
    name = column.rpartition(".")[2]
    return BadValue(f"column '{column}' needs {wanted}, got {kind(value)}", name, f"needs {wanted}")


def to_text(value: Any, column: str) -> Any:
    """Encode for string and text."""
    if value is None or (type(value) is str and "\0" not in value):
        return value
    if type(value) is str:
        raise BadValue(f"column '{column}' {HAS_NUL}", column.rpartition(".")[2], HAS_NUL)
    raise _wrong(value, column, "text")


def to_uuid(value: Any, column: str) -> Any:
    """Encode for uuid: lower case, with hyphens."""
    if value is None:
        return None
    if type(value) is str and (found := parse_uuid(value)):
        return found
    raise _wrong(value, column, "a uuid")


def to_time(value: Any, column: str) -> Any:
    """Encode for time: HH:MM:SS, with the fraction of a second if there is one."""
    if value is None:
        return None
    if type(value) is str and (found := parse_time(value)):
        return found
    raise _wrong(value, column, "a time such as 08:30")


def to_integer(value: Any, column: str) -> Any:
    """Encode for integer and bigint."""
    if value is None or (type(value) is int and -(2**63) <= value < 2**63):
        return value
    if type(value) is float and value.is_integer() and abs(value) < 2**53:
        return int(value)
    raise _wrong(value, column, "a whole number")


def to_number(value: Any, column: str) -> Any:
    """Encode for number."""
    if value is None:
        return None
    if type(value) is int or type(value) is float:
        return float(value)
    raise _wrong(value, column, "a number")


def to_decimal(value: Any, column: str) -> Any:
    """Encode for decimal: digits as text, nothing lost."""
    if value is None:
        return None
    found = parse_decimal(value)
    if type(found) is Decimal and decimals.fits(found):
        return format(found or abs(found), "f")
    if type(found) is Decimal:
        wanted = f"at most {decimals.MOST_DIGITS:,} digits on either side of the point"
        raise _wrong(value, column, wanted)
    raise _wrong(value, column, "a decimal number")


def to_boolean(value: Any, column: str) -> Any:
    """Encode for boolean."""
    if value is None or type(value) is bool:
        return None if value is None else int(value)
    raise _wrong(value, column, "true or false")


def to_datetime(value: Any, column: str) -> Any:
    """Encode for datetime; ISO 8601 text is read, without an offset as UTC."""
    if value is None:
        return None
    if type(value) is str and len(value) <= 40:
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise _wrong(value, column, "a datetime") from None
    if type(value) is datetime:
        return stored_datetime(value if value.tzinfo else value.replace(tzinfo=UTC))
    raise _wrong(value, column, "a datetime")


def to_date(value: Any, column: str) -> Any:
    """Encode for date."""
    if value is None:
        return None
    if type(value) is str and len(value) == 10:
        try:
            value = date.fromisoformat(value)
        except ValueError:
            raise _wrong(value, column, "a date") from None
    if type(value) is date:
        return value.isoformat()
    raise _wrong(value, column, "a date")


def to_json(value: Any, column: str) -> Any:
    """Encode for json; null is stored as SQL's null."""
    if value is None:
        return None
    check_size(value, MAX_JSON)
    try:
        return _encode_json(value).decode()
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        raise _wrong(value, column, "json") from None


def check_json(value: Any, column: str) -> Any:
    """Return the text of a computed value for a column of type json."""
    if value is None:
        return None
    try:
        _decode_json(value)
    except (TypeError, UnicodeEncodeError, RecursionError, msgspec.MsgspecError):
        raise _wrong(value, column, "json") from None
    return value


def to_binary(value: Any, column: str) -> Any:
    """Encode for binary; text is base64."""
    if value is None or type(value) is bytes:
        return value
    if type(value) is str:
        try:
            return b64decode(value, validate=True)
        except ValueError:  # base64's own error is one, and so is what is not ASCII
            raise _wrong(value, column, "base64 text") from None
    raise _wrong(value, column, "base64 text")


ENCODERS: dict[str, Callable[[Any, str], Any]] = {
    "string": to_text, "text": to_text, "uuid": to_uuid, "time": to_time,
    "integer": to_integer, "bigint": to_integer, "number": to_number, "decimal": to_decimal,
    "boolean": to_boolean, "datetime": to_datetime, "date": to_date, "json": to_json,
    "binary": to_binary,
}  # fmt: skip
"""By column type."""


def from_boolean(value: Any) -> Any:
    """Decode a boolean."""
    return None if value is None else value != 0


read_datetime = datetime.fromisoformat
"""Decode a datetime that is not null."""


def from_datetime(value: Any) -> Any:
    """Decode a datetime."""
    return None if value is None else datetime.fromisoformat(value)


def from_date(value: Any) -> Any:
    """Decode a date."""
    return None if value is None else date.fromisoformat(value)


def from_decimal(value: Any) -> Any:
    """Decode a decimal."""
    return None if value is None else Decimal(value)


def from_json(value: Any) -> Any:
    """Decode json."""
    return None if value is None else _decode_json(value)


def from_time(value: Any) -> Any:
    """Decode a time of day that came in JSON, where PostgreSQL leaves out final zeros."""
    return None if value is None else parse_time(value) or value


def from_number(value: Any) -> Any:
    """Decode a number that came in JSON."""
    return float(value) if type(value) is str else value


def from_hex(value: Any) -> Any:
    """Decode bytes that came in JSON."""
    return None if value is None else bytes.fromhex(value)


def listed(text: str) -> Any:
    """Return the JSON list of related rows; a long one costs fuel, as many rows do."""
    if len(text) > _SHORT:
        spend(len(text) >> 8)
    return _decode_json(text)


DECODERS: dict[str, Callable[[Any], Any]] = {
    "boolean": from_boolean, "datetime": from_datetime, "date": from_date,
    "decimal": from_decimal, "json": from_json,
}  # fmt: skip
"""By column type; a type that is not here needs no decoding."""
JSON_DECODERS = DECODERS | {"number": from_number, "binary": from_hex}
"""By column type, for a value that came in JSON."""


_json = FILTERS["json"].apply


def bind_own(value: Any) -> Any:
    """Return a value as a parameter of an author's own statement; a list or map is its JSON."""
    return _json(value) if type(value) in {list, dict} else bind(value)
