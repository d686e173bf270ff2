"""The addresses of projects' MCP servers: permanent keys that do not reveal the project."""

from __future__ import annotations

import sqlalchemy as sa

from bbops_server.accounts.keys import make_id
from bbops_server.accounts.store import Store
from bbops_server.accounts.tables import mcp_addresses


class Addresses:
    """Creates and finds the key of each project."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def of(self, project: str) -> str:
        """Return a project's key, created on first use."""
        wanted = sa.select(mcp_addresses.c.key).where(mcp_addresses.c.project == project)
        with self._store.reading() as connection:
            found = connection.scalar(wanted)
        return self._make(project, wanted) if found is None else found

    def project(self, key: str) -> str | None:
        """Return the project of a key; None for an unknown key."""
        wanted = sa.select(mcp_addresses.c.project).where(mcp_addresses.c.key == key)
        with self._store.reading() as connection:
            return connection.scalar(wanted)

    def _make(self, project: str, wanted: sa.Select[str]) -> str:
        key = make_id()
        with self._store.writing() as connection:
            found = connection.scalar(wanted)
            if found is not None:  # another process was faster
                return found
            connection.execute(mcp_addresses.insert().values(key=key, project=project))
        return key
