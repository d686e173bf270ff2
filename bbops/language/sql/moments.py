"""What queries make of datetimes and dates; each database has its own SQL for it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from bbops.language.sql.template import Template

UTC = "'UTC'"
"""The zone of a filter that names none, as SQL."""


class Moments(ABC):
    """SQL over datetimes and dates, which gives what the filters give in memory.

    `zone` is the SQL of a zone's name, and a date has none.
    """

    @abstractmethod
    def written(self, of: Template, form: str, zone: Template, *, date: bool) -> Template:
        """Return `date(form, zone)`."""

    @abstractmethod
    def start(self, of: Template, unit: str, zone: Template, *, date: bool) -> Template:
        """Return `startOf(unit, zone)`."""

    @abstractmethod
    def moved(self, of: Template, count: int, unit: str, zone: Template, *, date: bool) -> Template:
        """Return `add` of a duration: so many `ms s m h d w mo y`."""

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
