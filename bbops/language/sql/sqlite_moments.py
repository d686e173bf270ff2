"""Datetimes and dates on SQLite: the functions that run in memory, on what is stored."""

from __future__ import annotations

from bbops.language.sql.moments import UTC, Moments, literal
from bbops.language.sql.template import Template, seq


class SqliteMoments(Moments):
    """See `bbops.database.sqlite.moments` for the functions."""

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
