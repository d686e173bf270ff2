"""The SQL of PostgreSQL, with the same results as on SQLite.

Every parameter has a type. Text has the collation "C", which orders by code point; the name
`CASE_COLLATION` stands for the best rules for upper and lower case that a server has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from bbops.language.sql.dialect import (
    UTC,
    Dialect,
    Moments,
    Slot,
    Template,
    Use,
    commas,
    filled,
    joined,
    seq,
)
from bbops.language.sql.types import SqlColumn
from bbops.runtime.data.postgres_rows import CASE_COLLATION, DECODERS, ENCODERS, TOO_LONG
from bbops.runtime.data.rows import JSON_DECODERS, MOST_ROWS, from_time

# ---- Datetimes and dates on PostgreSQL, with the same results as the functions in memory
# `timestamptz + interval` uses the zone of the session, so days and months are added to local
# times. A local time that is there twice becomes the later moment with `AT TIME ZONE`; ours is the
# earlier.


class PostgresMoments(Moments):
    """Tested against the functions in memory, near changes of the clock in many zones."""

    def written(self, of: Template, form: str, zone: Template, *, date: bool) -> Template:
        if not form:
            return "''::text"
        pattern = "".join(
            _LETTERS[letter] if letter else _quoted(text) for letter, text in _PART.findall(form)
        )
        local = seq("(", of, ")::timestamp") if date else _local(of, zone)
        return seq("to_char(", local, ", '", pattern.replace("'", "''"), '\') COLLATE "C"')

    def start(self, of: Template, unit: str, zone: Template, *, date: bool) -> Template:
        if date:
            return seq(f"date_trunc('{unit}', (", of, ")::timestamp)::date")
        if unit in _SHORT or zone == UTC:
            return seq(f"date_trunc('{unit}', ", of, ", ", zone, ")")
        return _earlier(seq(f"date_trunc('{unit}', ", _local(of, zone), ")"), zone)

    def moved(self, of: Template, count: int, unit: str, zone: Template, *, date: bool) -> Template:
        interval = f"interval '{count} {_INTERVALS[unit]}'"
        if date:
            return seq("((", of, f")::timestamp + {interval})::date")
        if unit in {"ms", "s", "m", "h"}:
            return seq("(", of, f" + {interval})")
        local = seq("(", _local(of, zone), f" + {interval})")
        return seq("(", local, f" AT TIME ZONE {UTC})") if zone == UTC else _earlier(local, zone)

    def moved_by(self, of: Template, seconds: Template) -> Template:
        return seq("(", of, " + make_interval(secs => (", seconds, ")::double precision))")

    def days(
        self, of: Template, other: Template, zone: Template, dates: tuple[bool, bool]
    ) -> Template:
        days = [
            moment if is_date else seq(_local(moment, zone), "::date")
            for moment, is_date in zip((of, other), dates, strict=True)
        ]
        return seq("(", days[0], " - ", days[1], ")")

    def between(self, left: Template, right: Template) -> Template:
        return seq("extract(epoch FROM (", left, " - ", right, "))::double precision")


_TYPES: dict[str, str] = {
    "text": "text", "integer": "bigint", "number": "double precision", "decimal": "numeric",
    "boolean": "boolean", "datetime": "timestamptz", "date": "date", "binary": "bytea",
    "uuid": "uuid", "time": "time",
}  # fmt: skip

_STORED: dict[str, str] = _TYPES | {"string": "text", "bigint": "bigint", "json": "json"}

_AS_IT_IS: Mapping[str, frozenset[str]] = {
    "text": frozenset({"text"}), "integer": frozenset({"integer"}),
    "number": frozenset({"integer", "number"}), "boolean": frozenset({"boolean"}),
    "datetime": frozenset({"datetime"}), "date": frozenset({"date"}),
    "binary": frozenset({"binary"}), "decimal": frozenset({"decimal"}),
}  # fmt: skip
"""For each kind, the kinds whose values are parameters of its type unchanged."""

_SPACE = "".join(chr(at) for at in range(0x3001) if chr(at).isspace())

_AVERAGE = "(sign({0}) * div(2 * abs({0}) * 1000000 + {1}, nullif(2 * {1}, 0)) * 0.000001)"
"""The average of decimals, with six places and halves away from zero."""

_MARKS: Mapping[str, str] = {
    "boolean": "?::int::boolean", "decimal": "?::text::numeric",
    "datetime": "?::text::timestamptz", "date": "?::text::date",
}  # fmt: skip


class _Postgres(Dialect):
    name = "postgres"
    rows = "bbops.runtime.data.postgres_rows"
    writes = "bbops.runtime.data.postgres_rows"
    encoders = ENCODERS
    decoders = {of: decode.__name__ for of, decode in DECODERS.items()}
    json_decoders = {
        of: decode.__name__ for of, decode in (JSON_DECODERS | {"time": from_time}).items()
    }
    words = ("TRUE", "FALSE")
    filters = {
        "length": "length({0})",
        "lower": f'lower({{0}} COLLATE "{CASE_COLLATION}") COLLATE "C"',
        "upper": f'upper({{0}} COLLATE "{CASE_COLLATION}") COLLATE "C"',
        "trim": f"btrim({{0}}, '{_SPACE}')", "replace": "replace({0}, {1}, {2})",
        "contains": "(strpos({0}, {1}) > 0)", "startsWith": "starts_with({0}, {1})",
        "endsWith": "(right({0}, length({1})) = {1})",
        "default": "coalesce({0}, {1})", "abs": "abs({0})", "floor": "floor({0})",
        "ceil": "ceil({0})",
    }  # fmt: skip
    searches = filters
    list_alias = " AS _list"
    last_character = "chr(1114111)"
    by_value = ""
    by_code_point = ' COLLATE "C"'
    moments = PostgresMoments()
    own_rows = "own_rows"
    main = ""
    casts = {
        "datetime": "::timestamptz", "date": "::date", "boolean": "::boolean",
        "decimal": "::numeric", "number": "::double precision", "binary": "::bytea",
    }  # fmt: skip
    # a text may be a uuid, and a whole number the place of a character
    alone = {"text": "::text", "integer": "::bigint"}
    meets_others = True

    def slot(self, kind: str, beside: str, use: Use) -> Slot:
        if kind == "null":
            return Slot(sql="NULL")
        if beside == "json":
            return Slot("bind_json", sql="{}::text")
        of = beside if kind == "any" or (use != "value" and beside in _TYPES) else kind
        if of not in _TYPES:
            of = kind if kind in _TYPES else "text"
        if of == "integer" and kind != "integer" and use != "equal":
            of = "decimal"  # 2.5 is compared with whole numbers, too
        sql = f"{{}}::{_TYPES[of]}"
        if kind in _AS_IT_IS.get(of, ()):
            return Slot(sql=sql)
        return Slot("bind_as", (of,), sql)

    def list_slot(self, beside: str) -> Slot:
        of = beside if beside in _TYPES else "text"
        return Slot("bind_list", (of,), f"{{}}::{_TYPES[of]}[]")

    def column(self, sql: str, of: str) -> str:
        if of == "uuid":
            return f"{sql}::text"
        if of == "time":
            return f"replace(to_char({sql}, 'HH24:MI:SS.US'), '.000000', '')"
        return sql

    def assigned(self, value: Template, column: SqlColumn, *, sure: bool) -> Template:
        of = column.type
        if _STORED[of] == "bigint":  # as a text, so that a fraction is refused, not rounded
            return seq("trim_scale((", value, ")::numeric)::text::bigint")
        return seq("(", value, f")::{_STORED[of]}")

    def computed(self, value: Template, of: str) -> Template:
        order = self.by_code_point if of == "text" else ""
        return seq("(", value, f")::{_STORED[of]}{order}")

    def fitted(self, value: Template, column: SqlColumn) -> Template:
        # an invalid uuid is an error that names it; `left` keeps it from being computed early
        words = f"'{TOO_LONG}{column.longest}:{column.name}' || left({{0}}, 0)"
        pattern = f"CASE WHEN length({{0}}) > {column.longest} THEN ({words})::uuid::text"
        return filled(f"({pattern} ELSE {{0}} END)", [value])

    def inline_decoder(self, of: str) -> str:
        return ""

    def cursor_mark(self, of: str) -> str:
        return _MARKS.get(of, f"?::{_STORED[of]}")

    def equal(self, left: Template, right: Template, *, null: bool) -> Template:
        if "NULL" in {left, right}:
            return seq("(", left if right == "NULL" else right, " IS NULL)")
        return seq("(", left, " IS NOT DISTINCT FROM " if null else " = ", right, ")")

    def unequal(self, left: Template, right: Template, *, null: bool) -> Template:
        if null:
            return seq("(", left, " IS DISTINCT FROM ", right, ")")
        return ("not", self.equal(left, right, null=False))

    def ordered(self, left: Template, op: str, right: Template, kind: str) -> Template:
        return seq("(", left, f" {op} ", right, ' COLLATE "C")' if kind == "text" else ")")

    def among(self, left: Template, items: Sequence[Template]) -> Template:
        return seq("(", left, " IN (", commas(items), "))") if items else "FALSE"

    def in_list(self, left: Template, listed: Template) -> Template:
        return seq("(", left, " = ANY(", listed, "))")

    def has_null(self, listed: Template) -> Template:
        return seq("array_position(", listed, ", NULL) IS NOT NULL")

    def divided(self, left: Template, right: Template) -> Template:
        return seq("((", left, ")::double precision / nullif(", right, ", 0))")

    def remainder(self, left: Template, right: Template, *, whole: bool) -> Template:
        if whole:
            return seq("(", left, " % nullif(", right, ", 0))")
        return seq("(", left, " - ", right, " * trunc(", self.divided(left, right), "))")

    def rounded(self, of: Template, digits: Sequence[Template]) -> Template:
        places = seq(", (", digits[0], ")::int") if digits else ", 0"
        return seq("round((", of, ")::text::numeric", places, ")::double precision")

    def lesser(self, name: str, args: Sequence[Template], *, null: bool) -> Template:
        pattern = {
            "min": "least({0}, {1})", "max": "greatest({0}, {1})",
            "clamp": "greatest({1}, least({2}, {0}))",
        }[name]  # fmt: skip
        if not null:
            return filled(pattern, args)
        known = joined([seq(arg, " IS NOT NULL") for arg in args], " AND ")
        return seq("CASE WHEN ", known, " THEN ", filled(pattern, args), " END")

    def aggregated(self, name: str, of: Template, kind: str, only: Template = "") -> Template:
        if name == "sum":
            return seq("coalesce(sum(", of, ")", only, f", 0)::{_TYPES.get(kind, 'numeric')}")
        if name == "avg" and kind == "decimal":
            total, count = seq("sum(", of, ")", only), seq("count(", of, ")", only)
            return filled(_AVERAGE, [total, count])
        if name == "avg":
            return seq("avg((", of, ")::double precision)", only)
        called = "count(DISTINCT " if name == "countDistinct" else f"{name}("
        return seq(called, of, ' COLLATE "C")' if kind == "text" else ")", only)

    def exact_binary(self, op: str, left: Template, right: Template) -> Template:
        return seq("(", left, f" {op} ", right, ")")

    def exact_divided(self, left: Template, right: Template, places: int) -> Template:
        scale, unit = 10**places, f"0.{'0' * (places - 1)}1" if places else "1"
        pattern = (
            "(sign({0}) * sign({1}) * div(2 * abs({0}) * SCALE + abs({1}), "
            "nullif(2 * abs({1}), 0)) * UNIT)"
        )
        sides = [seq("(", side, ")::numeric") for side in (left, right)]
        return filled(pattern.replace("SCALE", str(scale)).replace("UNIT", unit), sides)

    def exact(self, value: Template) -> Template:
        return value

    def json_list(self, value: Template) -> Template:
        return seq("coalesce(json_agg(", value, "), '[]')")

    def json_row(self, cells: Template) -> Template:
        return seq("json_build_array(", cells, ")")

    def in_json(self, cell: Template, of: str) -> Template:
        if of == "binary":
            return seq("encode(", cell, ", 'hex')")
        # a json column comes as its text, as from SQLite
        is_text = of in {"number", "decimal", "datetime", "date", "json"}
        return seq("(", cell, ")::text") if is_text else cell

    def json_text(self, column: Template) -> Template:
        return seq("(", column, ')::text COLLATE "C"')

    def nested_json(self, value: Template) -> Template:
        return value

    def ways(self, *, nullable: bool) -> tuple[str, str]:
        # an index gives the nulls last in ascending order, and first in descending order
        return "", " DESC NULLS LAST" if nullable else " DESC"

    def limited(self, most: int) -> Template:
        return seq("least(", most, f"::bigint, {MOST_ROWS + 1})")

    def moves_on(self, table: str, column: str) -> str:
        sequence = f"pg_get_serial_sequence('\"{table}\"', '{column}')"
        return (
            f', CASE WHEN "{column}" > coalesce(pg_sequence_last_value({sequence}::regclass), 0)'
            f' THEN setval({sequence}, "{column}") END'
        )


POSTGRES = _Postgres()


_LETTERS: Final = {
    "a": "Dy", "A": "FMDay", "b": "Mon", "B": "FMMonth", "d": "DD", "f": "US", "F": "YYYY-MM-DD",
    "G": "IYYY", "H": "HH24", "I": "HH12", "j": "DDD", "m": "MM", "M": "MI", "p": "AM", "S": "SS",
    "T": "HH24:MI:SS", "u": "ID", "V": "IW", "y": "YY", "Y": "YYYY", "%": '"%"',
}  # fmt: skip
"""Letters of a format as `to_char` writes them; it lacks some."""

_PART: Final = re.compile("%(.)|([^%]+)", re.DOTALL)

_INTERVALS: Final = {
    "ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days",
    "w": "weeks", "mo": "months", "y": "years",
}  # fmt: skip

_SHORT: Final = frozenset({"second", "minute", "hour"})

_EARLIER: Final = (
    "(SELECT CASE WHEN _m.b AT TIME ZONE {1} = _m.l THEN least(_m.b, _m.a) ELSE _m.a END"
    " FROM (SELECT _n.l, _n.a, _n.a - interval '3 hours'"
    " + (_n.l - ((_n.a - interval '3 hours') AT TIME ZONE {1})) AS b"
    " FROM (SELECT _o.l, _o.l AT TIME ZONE {1} AS a FROM (SELECT {0} AS l OFFSET 0) AS _o"
    " OFFSET 0) AS _n OFFSET 0) AS _m)"
)
"""`OFFSET 0` keeps the planner from putting each value in the place of its names: 60,000 rows by
month took 1.4 s without it, and 0.55 with it."""


def _local(of: Template, zone: Template) -> Template:
    return seq("(", of, " AT TIME ZONE ", zone, ")")


def _earlier(local: Template, zone: Template) -> Template:
    """Return the moment of a local time: the earlier one where there are two."""
    return filled(_EARLIER, [local, zone])


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
