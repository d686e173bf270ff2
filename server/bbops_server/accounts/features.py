"""Which features a server's workspace has switched off, as a build has to know."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from bbops.base.errors import DatabaseError
from bbops.database.schema.place import PostgresPlace
from bbops_server.accounts.feature_names import FEATURES
from bbops_server.process.host.files import CONTROL_FILE
from bbops_server.settings import Settings

if TYPE_CHECKING:
    from bbops_server.accounts.book import Book


def read_features_off(settings: Settings) -> list[str]:
    """Return the names of features that are off, as they are now; blocks.

    Raises:
        DatabaseError: the control database cannot be opened.
    """
    if settings.accounts is None:
        return _peek(settings.state / f"{CONTROL_FILE}.sqlite")
    features = open_accounts(settings.state, settings.accounts).workspaces.get().features
    return sorted(name for name, on in features.items() if not on)


def _peek(path: Path) -> list[str]:
    """Read a file without SQLAlchemy, which takes longer to import than a server has to start.

    A file that is not there, or is just being made, switches nothing off. It is only read: a new
    one would open set-up again.
    """
    if not path.exists():
        return []
    try:
        uri = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=10)) as connection:
            row = connection.execute("SELECT features FROM workspaces WHERE id = 'main'").fetchone()
        said = json.loads(row[0]) if row else {}
        return sorted(name for name, on in said.items() if name in FEATURES and not on)
    except (sqlite3.Error, ValueError, AttributeError, TypeError) as error:
        if "no such table" in str(error):
            return []
        raise DatabaseError(
            f"cannot read the features of the workspace in '{path}': {error}",
            hint="restore it from a backup; the live release keeps serving",
        ) from None


@lru_cache(maxsize=4)
def open_accounts(state: Path, postgres: PostgresPlace | None) -> Book:
    """Return the accounts, which stay open: opening takes 20 ms, which publications wait for."""
    from bbops_server.accounts.book import Book  # noqa: PLC0415 - imports SQLAlchemy

    return Book.open(state, postgres=postgres)
