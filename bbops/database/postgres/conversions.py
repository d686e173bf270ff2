"""Conversions on PostgreSQL: Python converts each value once, and SQL looks it up.

So all databases convert by the one rule of `bbops.database.schema.conversions`.
"""

from __future__ import annotations

from collections.abc import Collection
from math import inf
from time import monotonic
from typing import Any, Final

import psycopg

from bbops.base.errors import DatabaseError
from bbops.database.postgres.ddl import PostgresDdl, stored_of, text_of
from bbops.database.schema.conversions import Conversions, convert_or_null, is_kept, literal

_TABLE: Final = """
CREATE TEMP TABLE IF NOT EXISTS _bbops_converted (
  old text NOT NULL, new text NOT NULL, was text COLLATE "C" NOT NULL, becomes text,
  kept boolean NOT NULL
) ON COMMIT DROP
"""
_INDEX: Final = "CREATE INDEX ON pg_temp._bbops_converted USING hash (was)"
_FIND: Final = (
    "SELECT {} FROM pg_temp._bbops_converted AS c"
    ' WHERE c.was = $1 COLLATE "C" AND c.old = $2 AND c.new = $3'
)
"""The index keeps servinge collation, and values come with that of their column."""
_FUNCTION: Final = (
    "CREATE OR REPLACE FUNCTION pg_temp.{name}(text, text, text) RETURNS {type} LANGUAGE {how}"
    " STABLE STRICT AS $body$ {body} $body$"
)
_STRICTLY: Final = f"""
DECLARE found text;
BEGIN
  {_FIND.format("c.becomes INTO found")};
  IF found IS NULL THEN RAISE EXCEPTION 'a value does not fit in its new type'; END IF;
  RETURN found;
END
"""
_ROWS: Final = 10_000

Types = tuple[str, str]


class PostgresConversions(Conversions):
    """Conversions that were made for the columns that change."""

    def __init__(self, ddl: PostgresDdl) -> None:
        self._ddl = ddl

    def converted(self, value: str, old: str, new: str) -> str:
        return self._call("bbops_convert", value, old, new)

    def strictly(self, value: str, old: str, new: str) -> str:
        return self._call("bbops_convert_strictly", value, old, new)

    def kept(self, value: str, old: str, new: str) -> str:
        return f"pg_temp.bbops_is_kept({value}::text, {literal(old)}, {literal(new)})"

    def _call(self, name: str, value: str, old: str, new: str) -> str:
        storage = self._ddl.storage(new)
        if storage == self._ddl.storage(old):
            return f"{value}::{storage}"  # an adopted column may be of a type close to it
        return f"pg_temp.{name}({value}::text, {literal(old)}, {literal(new)})::{storage}"


def make_conversions(
    live: psycopg.Connection[Any],
    columns: Collection[tuple[str, str, str, str]],
    until: float = inf,
) -> None:
    """Convert every value of these columns, for as long as the transaction lasts.

    Args:
        live: in a transaction.
        columns: table and column as they are now, old and new type.
        until: by the monotonic clock, when to give up.

    Raises:
        DatabaseError: it is not done by then.
    """
    live.execute(_TABLE)
    live.execute("TRUNCATE pg_temp._bbops_converted")
    for name, kind, body in (
        ("bbops_convert", "text", _FIND.format("c.becomes")),
        ("bbops_is_kept", "boolean", _FIND.format("c.kept")),
    ):
        live.execute(_FUNCTION.format(name=name, type=kind, how="sql", body=body).encode())
    body = _FUNCTION.format(
        name="bbops_convert_strictly", type="text", how="plpgsql", body=_STRICTLY
    )
    live.execute(body.encode())
    for (old, new), places in _by_types(columns).items():
        _convert(live, places, old, new, until)
    if columns:
        live.execute(_INDEX)
        live.execute("ANALYZE pg_temp._bbops_converted")


def _by_types(
    columns: Collection[tuple[str, str, str, str]],
) -> dict[Types, list[tuple[str, str]]]:
    found: dict[Types, list[tuple[str, str]]] = {}
    for table, column, old, new in columns:
        found.setdefault((old, new), []).append((table, column))
    return found


def _convert(
    live: psycopg.Connection[Any],
    places: Collection[tuple[str, str]],
    old: str,
    new: str,
    until: float,
) -> None:
    # one place is not deduplicated by UNION, and a hash index over equal values takes n x n steps
    values = " UNION ".join(
        f'SELECT DISTINCT "{column}"::text FROM "{table}" WHERE "{column}" IS NOT NULL'
        for table, column in places
    )
    with live.cursor("bbops_values") as reading, live.cursor() as writing:
        reading.itersize = _ROWS
        reading.execute(values.encode())
        while rows := reading.fetchmany(_ROWS):
            if monotonic() > until:
                raise DatabaseError("the values are not converted in time")
            with writing.copy("COPY pg_temp._bbops_converted FROM STDIN") as copy:
                for (text,) in rows:
                    copy.write_row((old, new, text, *_converted(text, old, new)))


def _converted(text: str, old: str, new: str) -> tuple[str | None, bool]:
    try:
        stored = stored_of(text, old)
    except ValueError:
        return None, False
    found = convert_or_null(stored, old, new)
    return (None, False) if found is None else (text_of(found, new), is_kept(stored, old, new))
