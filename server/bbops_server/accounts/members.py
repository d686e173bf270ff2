"""The roles of users in the workspace and in projects."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa

from bbops_server.accounts.people import require_owner
from bbops_server.accounts.rules import Role
from bbops_server.accounts.store import Store
from bbops_server.accounts.tables import memberships, people, project_roles
from bbops_server.accounts.text_rules import tidy_text
from bbops_server.accounts.workspace import WORKSPACE

Roles = tuple[Role | None, Mapping[str, Role]]
"""The role of a user in the workspace, and the roles in projects."""


class Members:
    """Reads and changes roles."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def roles(self, person: str) -> Roles:
        """Return the roles of a user."""
        with self._store.reading() as connection:
            return roles_of(connection, person)

    def roles_of_all(self) -> dict[str, Roles]:
        """Return the roles of all users with roles, by id."""
        found: dict[str, tuple[Role | None, dict[str, Role]]] = {}
        with self._store.reading() as connection:
            for row in connection.execute(sa.select(memberships)):
                found[row.person] = (Role(row.role), {})
            for row in connection.execute(sa.select(project_roles)):
                found.setdefault(row.person, (None, {}))[1][row.project] = Role(row.role)
        return dict(found)

    def read(self) -> dict[str, set[str]]:
        """Return the ids of enabled users with a role, by project. O(roles).

        The name of the workspace is empty.
        """
        found: dict[str, set[str]] = {}
        own = sa.select(memberships.c.person, sa.literal("").label("project"))
        more = sa.select(project_roles.c.person, project_roles.c.project)
        every = sa.union_all(own, more).subquery()
        wanted = sa.select(every).join(people, people.c.id == every.c.person)
        with self._store.reading() as connection:
            for row in connection.execute(wanted.where(people.c.disabled.is_(None))):
                found.setdefault(row.project, set()).add(row.person)
        return found

    def set_role(self, person: str, role: Role | None, project: str = "") -> None:
        """Set the role of a user in the workspace or in one project; None removes it.

        Raises:
            AccountError: the server would have no owner.
        """
        with self._store.writing() as connection:
            set_role(connection, person, role, tidy_text(project, "name of the project"))
            require_owner(connection)


def set_role(connection: sa.Connection, person: str, role: Role | None, project: str) -> None:
    """Set a role in a larger transaction."""
    table = project_roles if project else memberships
    key = {"person": person} | ({"project": project} if project else {"workspace": WORKSPACE})
    connection.execute(table.delete().filter_by(**key))
    if role is not None:
        connection.execute(table.insert().values(**key, role=role.value))


def roles_of(connection: sa.Connection, person: str) -> Roles:
    """Read the roles of a user in a larger transaction."""
    own = sa.select(memberships.c.role).where(
        memberships.c.person == person, memberships.c.workspace == WORKSPACE
    )
    role = connection.scalar(own)
    every = sa.select(project_roles).where(project_roles.c.person == person)
    projects = {row.project: Role(row.role) for row in connection.execute(every)}
    return Role(role) if role else None, projects
