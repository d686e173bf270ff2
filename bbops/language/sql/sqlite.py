"""The SQL of SQLite, with the functions and the collation of our connections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from bbops.language.sql.dialect import (
    UTC,
    Dialect,
    Moments,
    Slot,
    Template,
    Use,
    commas,
    filled,
    literal,
    seq,
)
from bbops.language.sql.types import SqlColumn
from bbops.runtime.data.rows import DECODERS, ENCODERS, JSON_DECODERS

# ---- Datetimes and dates on SQLite: the functions that run in memory, on what is stored


class SqliteMoments(Moments):
    """See `bbops.database.sqlite.functions` for the functions."""

    def written(self, of: Template, form: str, zone: Template, *, date: bool) -> Template:
        if form in {"%F", "%Y-%m-%d"} and (date or zone == UTC):
            return seq("substr(", of, ", 1, 10)")
        return seq("bbops_date(", of, f", {literal(form)}, ", zone, ")")

    def start(self, of: Template, unit: str, zone: Template, *, date: bool) -> Template:
        del date
        return seq("bbops_start(", of, f", '{unit}', ", zone, ")")

    def moved(self, of: Template, count: int, unit: str, zone: Template, *, date: bool) -> Template:
        del date
        return seq("bbops_add(", of, f", '{count}{unit}', ", zone, ")")

    def moved_by(self, of: Template, seconds: Template) -> Template:
        return seq("bbops_add(", of, ", ", seconds, f", {UTC})")

    def days(
        self, of: Template, other: Template, zone: Template, dates: tuple[bool, bool]
    ) -> Template:
        del dates
        return seq("bbops_days(", of, ", ", other, ", ", zone, ")")

    def between(self, left: Template, right: Template) -> Template:
        return seq("bbops_between(", left, ", ", right, ")")


_AS_IT_IS = frozenset({"text", "integer"})

_KINDS = {"uuid": "text", "time": "text"}


class _Sqlite(Dialect):
    name = "sqlite"
    rows = "bbops.runtime.data.rows"
    writes = "bbops.runtime.data.writes"
    encoders = ENCODERS
    decoders = {of: decode.__name__ for of, decode in DECODERS.items()}
    json_decoders = {of: decode.__name__ for of, decode in JSON_DECODERS.items()}
    words = ("1", "0")
    filters = {
        "length": "length({0})", "lower": "bbops_lower({0})", "upper": "bbops_upper({0})",
        "trim": "bbops_trim({0})", "replace": "replace({0}, {1}, {2})",
        "contains": "(instr({0}, {1}) > 0)", "startsWith": "(instr({0}, {1}) = 1)",
        # Bytes, since `length` of a text stops at a NUL; the end of UTF-8 is the end of the text.
        "endsWith": "({1} = '' AND {0} = {0} OR substr(CAST({0} AS BLOB), "
        "length(CAST({0} AS BLOB)) - length(CAST({1} AS BLOB)) + 1) = CAST({1} AS BLOB))",
        "default": "coalesce({0}, {1})", "abs": "abs({0})", "floor": "floor({0})",
        "ceil": "ceil({0})",
    }  # fmt: skip
    # SQLite's own take the product of both lengths, and a row's text may be long
    searches = {
        **filters, "replace": "bbops_replace({0}, {1}, {2})",
        "contains": "(bbops_instr({0}, {1}) > 0)", "startsWith": "(bbops_instr({0}, {1}) = 1)",
    }  # fmt: skip
    list_alias = ""
    last_character = "char(0x10ffff)"
    by_value = " COLLATE bbops_decimal"
    by_code_point = ""
    moments = SqliteMoments()
    own_rows = ""
    main = "main."
    casts: ClassVar[Mapping[str, str]] = {}
    alone: ClassVar[Mapping[str, str]] = {}
    meets_others = False

    @property
    def kept(self) -> Dialect:
        return SQLITE_CHECK

    def slot(self, kind: str, beside: str, use: Use) -> Slot:
        if kind == "null":
            return Slot(sql="NULL")  # so that an index serves it which has only such rows
        if kind in _AS_IT_IS:
            return Slot()
        if kind == "any" and beside not in {"any", "json"} and use != "value":
            return Slot("bind_as", (_KINDS.get(beside, beside),))
        return Slot("bind")

    def list_slot(self, beside: str) -> Slot:
        return Slot("bind_decimals" if beside == "decimal" else "bind_list")

    def column(self, sql: str, of: str) -> str:
        return sql

    def assigned(self, value: Template, column: SqlColumn, *, sure: bool) -> Template:
        if sure:
            return value
        return seq("bbops_stored(", value, f", '{column.type}', '{column.name}')")

    def computed(self, value: Template, of: str) -> Template:
        return self.exact(value) if of == "decimal" else value

    def fitted(self, value: Template, column: SqlColumn) -> Template:
        return seq("bbops_fit(", value, f", {column.longest}, '{column.name}')")

    def inline_decoder(self, of: str) -> str:
        return {"boolean": "{} != 0", "datetime": "read({})"}.get(of, "")

    def cursor_mark(self, of: str) -> str:
        return "?"

    def equal(self, left: Template, right: Template, *, null: bool) -> Template:
        return seq("(", left, " IS ", right, ")")

    def unequal(self, left: Template, right: Template, *, null: bool) -> Template:
        return seq("(", left, " IS NOT ", right, ")")

    def ordered(self, left: Template, op: str, right: Template, kind: str) -> Template:
        return seq("(", left, f" {op} ", right, ")")

    def among(self, left: Template, items: Sequence[Template]) -> Template:
        return seq("(", left, " IN (", commas(items), "))")

    def in_list(self, left: Template, listed: Template) -> Template:
        return seq("(", left, " IN (SELECT value FROM json_each(", listed, ")))")

    def has_null(self, listed: Template) -> Template:
        return seq("EXISTS (SELECT 1 FROM json_each(", listed, ") WHERE value IS NULL)")

    def divided(self, left: Template, right: Template) -> Template:
        return seq("(CAST(", left, " AS REAL) / ", right, ")")

    def remainder(self, left: Template, right: Template, *, whole: bool) -> Template:
        if whole:
            return seq("(", left, " % ", right, ")")
        return seq("(", left, " - ", right, " * CAST(", left, " / ", right, " AS INTEGER))")

    def rounded(self, of: Template, digits: Sequence[Template]) -> Template:
        return seq("round(", commas([of, *digits]), ")")

    def lesser(self, name: str, args: Sequence[Template], *, null: bool) -> Template:
        pattern = "max({1}, min({2}, {0}))" if name == "clamp" else f"{name}({{0}}, {{1}})"
        return filled(pattern, args)

    def aggregated(self, name: str, of: Template, kind: str, only: Template = "") -> Template:
        if name == "countDistinct":
            by_value = self.by_value if kind == "decimal" else ""
            return seq("count(DISTINCT ", of, by_value, ")", only)
        if kind == "decimal":
            own = {"sum": "bbops_sum(", "avg": "bbops_avg("}.get(name, f"{name}(")
            found = seq(own, of, self.by_value if own == f"{name}(" else "", ")", only)
            return self.exact(seq("coalesce(", found, ", '0')") if name == "sum" else found)
        found = seq(f"{name}(", of, ")", only)
        return seq("coalesce(", found, ", 0)") if name == "sum" else found

    def exact_binary(self, op: str, left: Template, right: Template) -> Template:
        name = {"+": "bbops_plus", "-": "bbops_minus", "*": "bbops_times"}[op]
        return seq(f"{name}(", left, ", ", right, ")")

    def exact_divided(self, left: Template, right: Template, places: int) -> Template:
        return seq("bbops_divide(", left, ", ", right, f", {places})")

    def exact(self, value: Template) -> Template:
        # what is computed has no affinity, and a number beside it would not become a text
        return seq("CAST(", value, " AS TEXT)")

    def json_list(self, value: Template) -> Template:
        return seq("json_group_array(", value, ")")

    def json_row(self, cells: Template) -> Template:
        return seq("json_array(", cells, ")")

    def in_json(self, cell: Template, of: str) -> Template:
        # SQLite's JSON has no bytes, and rounds numbers
        name = {"binary": "bbops_hex(", "number": "bbops_number("}.get(of)
        return cell if name is None else seq(name, cell, ")")

    def json_text(self, column: Template) -> Template:
        return column

    def nested_json(self, value: Template) -> Template:
        return seq("json(", value, ")")

    def unique_key(self, column: str, of: str) -> str:
        # SQLite's own functions: other programs write to the file, too
        name = f'"{column}"'
        if of != "decimal":
            return name
        return f"CASE WHEN instr({name}, '.') THEN rtrim(rtrim({name}, '0'), '.') ELSE {name} END"

    def ways(self, *, nullable: bool) -> tuple[str, str]:
        return " NULLS LAST" if nullable else "", " DESC"

    def limited(self, most: int) -> Template:
        return most

    def moves_on(self, table: str, column: str) -> str:
        return ""


class _SqliteCheck(_Sqlite):
    """In a CHECK or an index: other programs, which have no collation of ours, write, too."""

    by_value = ""
    searches = _Sqlite.filters

    def column(self, sql: str, of: str) -> str:
        return f"CAST({sql} AS NUMERIC)" if of == "decimal" else sql


SQLITE = _Sqlite()

SQLITE_CHECK = _SqliteCheck()
