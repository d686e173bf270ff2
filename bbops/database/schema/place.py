"""The place of a project's data: a SQLite file, or a schema of a PostgreSQL database."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from bbops.base.errors import DatabaseError

_SCHEMES = frozenset({"postgresql", "postgres"})
_NAME_LENGTH: Final = 63
_END_LENGTH: Final = 9  # the hash of a rule, with its separator


@dataclass(frozen=True, slots=True)
class PostgresPlace:
    """A schema of a PostgreSQL database; its text form hides the password.

    Attributes:
        url: the address of the database, with all connection settings.
        schema: the project's own; connections look for tables only there.
    """

    url: str = field(repr=False)
    schema: str

    @property
    def address(self) -> str:
        """The URL with the schema as the search path, for any PostgreSQL driver."""
        parts = urlsplit(self.url)
        given = [pair for pair in parse_qsl(parts.query) if pair[0] != "options"]
        query = urlencode([*given, ("options", f"-csearch_path={self.schema}")], quote_via=quote)
        return urlunsplit(parts._replace(query=query))

    def __str__(self) -> str:
        return f"schema '{self.schema}' of {name_database(self.url)}"


Place: TypeAlias = Path | PostgresPlace


def name_database(url: str) -> str:
    """Return the address of a PostgreSQL database without user, password and options."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2] or dict(parse_qsl(parts.query)).get("host", "")
    return f"postgresql://{host}{parts.path}"


def write_place(place: Place) -> str:
    """Return a place as text with the password, for other processes of ours, never for a log."""
    if isinstance(place, Path):
        return str(place)
    return f"{place.url.partition('#')[0]}#{place.schema}"


def read_place(text: str) -> Place:
    """Return the place from a text of `write_place`."""
    url, mark, schema = text.partition("#")
    if mark and urlsplit(url).scheme in _SCHEMES:
        return PostgresPlace(url, schema)
    return Path(text)


def read_url(url: str, schema: str) -> PostgresPlace:
    """Return the place of a `DATABASE_URL`.

    Raises:
        DatabaseError: it is not a URL of a PostgreSQL database; the message does not repeat it.
    """
    try:
        parts = urlsplit(url)
        is_right = parts.scheme in _SCHEMES and len(parts.path) > 1 and parts.port != 0
    except ValueError:
        is_right = False
    if not is_right:
        raise DatabaseError(
            "DATABASE_URL is not a PostgreSQL URL",
            hint="expected 'postgresql://user:password@host:5432/database'",
        )
    return PostgresPlace(url, schema)


def fit_name(name: str) -> str:
    """Return a name of at most 63 characters, PostgreSQL's limit.

    A hash replaces the cut part of a longer name. Its end stays.
    """
    if len(name) <= _NAME_LENGTH:
        return name
    digest, end = hashlib.sha256(name.encode()).hexdigest()[:8], name[-_END_LENGTH:]
    return f"{name[: _NAME_LENGTH - len(digest) - len(end) - 1]}_{digest}{end}"
