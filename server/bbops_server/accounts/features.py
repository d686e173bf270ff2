"""Which features a server's workspace has switched off, as a build has to know."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from bbops.database.place import PostgresPlace
from bbops_server.accounts.book import Book
from bbops_server.settings import Settings


def read_features_off(settings: Settings) -> list[str]:
    """Return the names of features that are off, as they are now; blocks.

    Raises:
        DatabaseError: the control database cannot be opened.
    """
    features = _book(settings.state, settings.accounts).workspaces.get().features
    return sorted(name for name, on in features.items() if not on)


@lru_cache(maxsize=4)
def _book(state: Path, postgres: PostgresPlace | None) -> Book:
    """Opening it takes some 20 ms, and every publication would wait for that."""
    return Book.open(state, postgres=postgres)
