"""Filters on datetimes and dates of columns: formats, units and zones are known before SQL."""

from __future__ import annotations

import re
from typing import Final

from bbops.language.expressions import nodes as s
from bbops.language.sql.dialect import UTC, Template, literal, seq
from bbops.language.sql.parts import NotInSql, Parts
from bbops.runtime.values.failures import FlowError
from bbops.runtime.values.filters.times import SECONDS
from bbops.runtime.values.times import STARTS, find_zone, read_step

_ZONE_AT: Final = {"date": 1, "startOf": 1, "add": 1, "difference": 2}
MOMENT_FILTERS: Final = frozenset({*_ZONE_AT, *SECONDS})
_LETTER: Final = re.compile("%(.)", re.DOTALL)
NOT_IN_SQL: Final = frozenset("eswzZ")
"""Letters of a format that PostgreSQL's `to_char` lacks."""
_MOMENTS: Final = frozenset({"datetime", "date"})


def moment(query: Parts, node: s.Filter) -> Template:
    """Return the SQL of one of `MOMENT_FILTERS` on columns."""
    if node.name in SECONDS:
        if query.type_of(node.of).kind == "decimal":
            raise NotInSql(node.name_start, f"'{node.name}' on decimals is not supported in SQL")
        return seq("(", query.scalar(node.of, "number"), f" * {SECONDS[node.name]})")
    of, moments = _moment(query, node, node.of), query.dialect.moments
    is_date, zone = query.type_of(node.of).kind == "date", _zone(query, node)
    if node.name == "date":
        form = _constant(node, "format")
        if lacking := [letter for letter in _LETTER.findall(form) if letter in NOT_IN_SQL]:
            message = f"'%{lacking[0]}' has no equal in SQL"
            hint = "format the value in a step after this one"
            raise NotInSql(node.args[0].start, message, hint)
        return moments.written(of, form, zone, date=is_date)
    if node.name == "startOf":
        unit = _constant(node, "unit")
        if unit not in STARTS:
            raise NotInSql(node.args[0].start, f"'{unit}' is not a unit")
        return moments.start(of, unit, zone, date=is_date)
    if node.name == "difference":
        other = _moment(query, node, node.args[0])
        dates = is_date, query.type_of(node.args[0]).kind == "date"
        return moments.days(of, other, zone, dates)
    if query.type_of(node.args[0]).kind != "text":
        if is_date:
            raise NotInSql(node.args[0].start, "a date has no time of day")
        return moments.moved_by(of, query.scalar(node.args[0], "number"))
    count, unit = read_step(_constant(node, "duration"))
    return moments.moved(of, count, unit, zone, date=is_date)


def _moment(query: Parts, node: s.Filter, of: s.Node) -> Template:
    kind = query.type_of(of).kind
    if kind not in _MOMENTS:
        message = f"'{node.name}' of {'json' if kind == 'any' else kind} is not supported in SQL"
        raise NotInSql(of.start, message, "use a column of type datetime or date")
    return query.scalar(of, kind)


def _constant(node: s.Filter, what: str) -> str:
    arg = node.args[0]
    if isinstance(arg, s.Literal) and isinstance(arg.value, str):
        return arg.value
    hint = "write the text itself"
    raise NotInSql(arg.start, f"on columns the {what} of '{node.name}' is a constant", hint)


def _zone(query: Parts, node: s.Filter) -> Template:
    """Return a zone as SQL: a constant, or one out of an `enum`."""
    at = _ZONE_AT[node.name]
    if len(node.args) <= at:
        return UTC
    arg, options = node.args[at], query.type_of(node.args[at]).options
    if isinstance(arg, s.Literal):
        return literal(str(arg.value))
    hint = "give it an 'enum', such as [UTC, Europe/Berlin]"
    if query.has_columns(arg) or not options:
        message = "on columns a time zone is a constant, or one of an 'enum'"
        raise NotInSql(arg.start, message, hint, "zone")
    for name in options:
        try:
            find_zone(name)
        except FlowError as problem:
            raise NotInSql(arg.start, problem.message, hint, "zone") from None
    return query.given(arg, "text")
