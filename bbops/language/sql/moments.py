"""The SQL of datetimes and dates in queries, which differs by database."""

from __future__ import annotations

from abc import ABC, abstractmethod

from bbops.language.sql.template import Template

UTC = "'UTC'"
"""The default zone of a filter, as SQL."""


class Moments(ABC):
    """SQL over datetimes and dates, with the same results as the filters in memory.

    `zone` is the SQL of a zone's name; a date has no zone.
    """

    @abstractmethod
    def written(self, of: Template, form: str, zone: Template, *, date: bool) -> Template:
        """Return `date(form, zone)`."""

    @abstractmethod
    def start(self, of: Template, unit: str, zone: Template, *, date: bool) -> Template:
        """Return `startOf(unit, zone)`."""

    @abstractmethod
    def moved(self, of: Template, count: int, unit: str, zone: Template, *, date: bool) -> Template:
        """Return `add` of a duration: a number of `ms s m h d w mo y`."""

    @abstractmethod
    def moved_by(self, of: Template, seconds: Template) -> Template:
        """Return `add` of a number of seconds."""

    @abstractmethod
    def days(
        self, of: Template, other: Template, zone: Template, dates: tuple[bool, bool]
    ) -> Template:
        """Return `difference(other, 'd', zone)`."""

    @abstractmethod
    def between(self, left: Template, right: Template) -> Template:
        """Return the seconds between two datetimes, as a number."""


def literal(text: str) -> str:
    """Return a text as SQL."""
    return "'" + text.replace("'", "''") + "'"
