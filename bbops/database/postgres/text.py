"""Compiled SQL for PostgreSQL: `$1` for `?`, rules for case, types of parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import asyncpg
import msgspec

from bbops.runtime.data.postgres_rows import CASE_COLLATION
from bbops.runtime.values.failures import FlowError

_PART: Final = re.compile(
    r"[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\""
    r"|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$|--[^\n]*|/\*.*?\*/|\?|\w+",
    re.DOTALL,
)
_READS: Final = frozenset({"select", "values", "explain"})
_VERBS: Final = _READS | {
    "with", "insert", "update", "delete", "create", "alter", "drop",
}  # fmt: skip
NAMES_CAUSE: Final = (
    "SELECT set_config('bbops.cause', CAST(? AS text) || ' ' || CAST(? AS bigint), true)"
)
"""Records the job that changes rows, until the transaction ends; see `runtime.work.statements`."""
_LASTING: Final = frozenset({"set_config", "pg_advisory_lock", "pg_advisory_lock_shared"})
"""Functions with effects that outlast the statement on a connection."""


# Searches in texts: their cost grows with the rows, the texts and the wanted text.
_LONG: Final = re.compile(r"\b(?:strpos|starts_with|right|replace(?!\(to_char))\(")


@dataclass(frozen=True, slots=True)
class Text:
    """A statement for one server.

    Attributes:
        verb: its first word.
        gives_rows: None if only the server knows.
        is_long: it searches texts, so it has less time than others.
    """

    sql: str
    verb: str
    gives_rows: bool | None
    is_long: bool


def translate(sql: str, case_collation: str) -> Text:
    """Return a statement with numbered parameters.

    Raises:
        FlowError: it neither reads nor writes rows, or would leave something behind.
    """
    words: list[str] = []
    count = 0

    def replaced(part: re.Match[str]) -> str:
        nonlocal count
        text = part[0]
        if text == "?":
            count += 1
            return f"${count}"
        if text[0].isalpha() and text[-1] != "'":
            words.append(text.lower())
        return case_collation if text == f'"{CASE_COLLATION}"' else text

    numbered = _PART.sub(replaced, sql)
    verb = words[0] if words else ""
    if verb not in _VERBS:
        found = f"'{verb}'" if verb else "none"
        raise FlowError(f"expected a statement that reads or writes rows, found {found}")
    left = _LASTING.intersection(words)
    if left and sql != NAMES_CAUSE:
        raise FlowError(f"'{min(left)}' would outlast the statement")
    return Text(numbered, verb, _gives_rows(verb, words), _LONG.search(sql) is not None)


def _gives_rows(verb: str, words: list[str]) -> bool | None:
    if verb == "with":
        return None
    return verb in _READS or "returning" in words


# ---- Convert parameters of an author's own statement to the types that the server reports


def fit(values: Sequence[object], types: Iterable[asyncpg.Type]) -> list[object]:
    """Return the values in asyncpg's types; asyncpg itself refuses a value that does not fit.

    A list is converted to an array; it arrives as JSON, like every list in such a parameter.
    """
    return [
        value if value is None else _fitted(value, of.name)
        for value, of in zip(values, types, strict=True)
    ] if values else []  # fmt: skip


def _fitted(value: object, of: str) -> object:
    with suppress(ValueError, TypeError, InvalidOperation, OverflowError):
        if of.endswith("[]"):
            items: Any = msgspec.json.decode(value) if isinstance(value, str) else value
            return [item if item is None else _fitted(item, of[:-2]) for item in items]
        return _FIT[of](value) if of in _FIT else value
    return value


def _integer(value: Any) -> int:
    found = int(value)
    if found != value and not isinstance(value, str):
        raise ValueError
    return found


def _boolean(value: Any) -> Any:
    return bool(value) if value in (0, 1) else value


def _text(value: Any) -> Any:
    return value if isinstance(value, str | bytes) else str(value)


def _moment(value: Any) -> datetime:
    found = datetime.fromisoformat(value) if isinstance(value, str) else value
    aware: datetime = found if found.tzinfo else found.replace(tzinfo=UTC)
    return aware


def _naive(value: Any) -> datetime:
    return _moment(value).astimezone(UTC).replace(tzinfo=None)


def _day(value: Any) -> date:
    if isinstance(value, datetime):
        return value.astimezone(UTC).date()
    return date.fromisoformat(value) if isinstance(value, str) else value


_FIT: Final[dict[str, Callable[[Any], Any]]] = {
    **dict.fromkeys(("int2", "int4", "int8", "oid"), _integer),
    **dict.fromkeys(("float4", "float8"), float),
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "json", "jsonb"), _text),
    "numeric": lambda value: Decimal(str(value)), "bool": _boolean, "timestamptz": _moment,
    "timestamp": _naive, "date": _day,
}  # fmt: skip
