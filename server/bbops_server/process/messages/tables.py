"""Migrations of a project's tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bbops_server.process.messages.request import AnswerMessage, DoneAnswer, RequestMessage


class FindReleaseAnswer(AnswerMessage, frozen=True):
    """A release's digest; empty before the first release."""

    digest: str


class FindRelease(RequestMessage[FindReleaseAnswer], frozen=True):
    """Find the release of the current tables."""

    database: str
    """A place in the form of `write_place`."""

    state: str


class Rehearsal(AnswerMessage, frozen=True):
    """The migration of a release.

    Attributes:
        is_done: the tables are up to date.
        is_behind: tables of the previous release are not narrowed yet.
        switches: names or types change during the swap.
        hidden: removed columns that the database keeps.
        listens: its database triggers differ from the previous release's.
    """

    is_done: bool
    is_behind: bool
    switches: bool
    hidden: list[str]
    listens: bool = False


class RehearseMigration(RequestMessage[Rehearsal], frozen=True):
    """Plan a migration, and try the release on empty tables."""

    database: str
    """A place in the form of `write_place`."""

    state: str
    digest: str
    artifact: str


class TriedStatements(AnswerMessage, frozen=True):
    """The numbers of prepared statements and of tried routes."""

    statements: int
    routes: int


class TryStatements(RequestMessage[TriedStatements], frozen=True):
    """Prepare every SQL statement of a release against the tables."""

    database: str
    """A place in the form of `write_place`."""

    state: str
    artifact: str


class ExpandTablesAnswer(AnswerMessage, frozen=True):
    """The changes that were made."""

    changes: list[str]


class ExpandTables(RequestMessage[ExpandTablesAnswer], frozen=True):
    """Expand the tables so that both releases can use them."""

    database: str
    """A place in the form of `write_place`."""

    state: str
    digest: str


class SwitchTables(RequestMessage[DoneAnswer], frozen=True):
    """Change names and types while requests are queued."""

    database: str
    """A place in the form of `write_place`."""

    state: str
    digest: str
    until: float
    """The deadline on the monotonic clock."""


class NarrowTablesAnswer(AnswerMessage, frozen=True):
    """Removed columns that the database keeps."""

    hidden: list[str]


class NarrowTables(RequestMessage[NarrowTablesAnswer], frozen=True):
    """Narrow the tables to what a release declares."""

    database: str
    """A place in the form of `write_place`."""

    state: str
    digest: str


class SettleTables(RequestMessage[DoneAnswer], frozen=True):
    """Record the release of the current tables."""

    database: str
    """A place in the form of `write_place`."""

    state: str
    digest: str


class CopiedRows(AnswerMessage, frozen=True):
    """The number of copied rows by table."""

    rows: dict[str, int]


class CopyRows(RequestMessage[CopiedRows], frozen=True):
    """Copy live rows into a draft."""

    source: Mapping[str, Any]
    """A `publish.build.sources.Source`."""

    origin: str
    """The live database, in the form of `write_place`."""

    target: str
    tables: list[str]
    limit: int
    """The number of rows per table."""

    masked: list[str]
