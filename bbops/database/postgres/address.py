"""Read the URL of a database, and name it without its password."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

from bbops.errors import DatabaseError

SCHEMES = ("postgresql", "postgres")


def is_url(place: object) -> bool:
    """Return whether a place is the URL of a database, not a file."""
    return isinstance(place, str) and place.partition("://")[0] in SCHEMES


def shown(url: str) -> str:
    """Return a URL as a message may name it: without the password and the options."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return f"{url.partition('://')[0]}://…"
    user, at, place = parts.netloc.rpartition("@")
    return urlunsplit((parts.scheme, f"{user.partition(':')[0]}{at}{place}", parts.path, "", ""))


def check_url(url: str) -> None:
    """Raise DatabaseError when a text is no URL of a PostgreSQL database."""
    hint = "expected postgresql://user:password@host:5432/database"
    scheme, separator, _ = url.partition("://")
    if not separator or scheme not in SCHEMES:
        raise DatabaseError(
            f"a database URL begins with postgresql://, found '{scheme}'", hint=hint
        )
    try:
        _ = urlsplit(url).port
    except ValueError:
        message = "the database URL has a wrong host or port"
        raise DatabaseError(
            message, hint=f"{hint}; '%' and '/' in a password are %25 and %2F"
        ) from None
