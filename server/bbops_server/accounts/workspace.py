"""The workspace: its name, its company, and the features of its projects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec
import sqlalchemy as sa

from bbops_server.accounts.feature_names import FEATURES
from bbops_server.accounts.store import Store
from bbops_server.accounts.tables import workspaces
from bbops_server.accounts.text_rules import AccountError, tidy_text

WORKSPACE: Final = "main"
"""A server has one workspace so far; the tables are ready for several."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """The owner of the projects of a server."""

    name: str = ""
    company: str = ""
    features: Mapping[str, bool] = field(default_factory=lambda: dict(FEATURES))


class Workspaces:
    """Reads and changes the workspace."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self) -> Workspace:
        """Return the workspace, or the default one."""
        with self._store.reading() as connection:
            return _read(connection)

    def set_profile(self, name: str, company: str) -> Workspace:
        """Change its name and company.

        Raises:
            AccountError: one of them is too long.
        """
        with self._store.writing() as connection:
            values = {"name": tidy_text(name, "name"), "company": tidy_text(company, "company")}
            return _write(connection, msgspec.structs.replace(_row(connection), **values))

    def set_feature(self, feature: str, *, on: bool) -> Workspace:
        """Switch a feature.

        Raises:
            AccountError: there is no such feature.
        """
        if feature not in FEATURES:
            raise AccountError(
                f"unknown feature '{feature}'", hint=f"there is {', '.join(FEATURES)}"
            )
        with self._store.writing() as connection:
            row = _row(connection)
            return _write(
                connection, msgspec.structs.replace(row, features=row.features | {feature: on})
            )


class _Row(msgspec.Struct, frozen=True):
    name: str = ""
    company: str = ""
    features: dict[str, bool] = {}

    def workspace(self) -> Workspace:
        known = {name: on for name, on in self.features.items() if name in FEATURES}
        return Workspace(self.name, self.company, {**FEATURES, **known})


def _row(connection: sa.Connection) -> _Row:
    found = sa.select(workspaces).where(workspaces.c.id == WORKSPACE)
    row = connection.execute(found).one_or_none()
    if row is None:
        return _Row()
    return _Row(row.name, row.company, msgspec.json.decode(row.features, type=dict[str, bool]))


def _read(connection: sa.Connection) -> Workspace:
    return _row(connection).workspace()


def _write(connection: sa.Connection, row: _Row) -> Workspace:
    features = msgspec.json.encode(row.features).decode()
    values = {"name": row.name, "company": row.company, "features": features}
    changed = connection.execute(
        workspaces.update().where(workspaces.c.id == WORKSPACE).values(**values)
    )
    if not changed.rowcount:
        connection.execute(workspaces.insert().values(id=WORKSPACE, **values))
    return row.workspace()
