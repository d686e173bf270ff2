"""Compile `auth.providers`: where users sign in, and how an account of theirs is made."""

from __future__ import annotations

from typing import Any, Final

from bbops.base.names import env_name
from bbops.language.project import Project
from bbops.language.resources.project import Auth
from bbops.language.sql.dialect import Dialect
from bbops.language.sql.types import SqlColumn, SqlTable

_LONGEST_NAME: Final = 200
_MOMENTS: Final = frozenset(("created", "updated"))


def compile_providers(project: Project, auth: Auth, dialect: Dialect) -> dict[str, Any]:
    """Return `providers`, a list, and the `profile` of the table of users, None without any."""
    table = project.stored_tables.get(auth.users or "")
    if not auth.providers or table is None:
        return {"providers": [], "profile": None}
    providers = [
        {
            "name": name, "kind": one.kind_of(name), "issuer": one.issuer_of(name),
            "domains": list(one.domains),
            "config": {key: (env_name(value), value) for key, value, _ in one.settings() if value},
        } for name, one in sorted(auth.providers.items())
    ]  # fmt: skip
    return {"providers": providers, "profile": _profile(table, auth, dialect)}


def _profile(table: SqlTable, auth: Auth, dialect: Dialect) -> dict[str, Any]:
    profile, columns = auth.profile, table.columns
    types = {name: column.type for name, column in columns.items()}
    moved = {
        name: dialect.moves_on(table.name, name)
        for name, column in columns.items() if column.auto == "increment"
    }  # fmt: skip
    made = {name: found for name, column in columns.items() if (found := _made(column))}
    named = columns[profile.name].max_length if profile.name else None
    return {
        "table": table.name, "key": table.key[0], "types": types, "made": made,
        "inserter": (f"{dialect.writes}:Inserter", table.name, types, [], "", [], moved,
                     table.longest),
        "email": profile.email, "verified": profile.email_verified, "name": profile.name,
        "role": profile.role, "blocked": profile.blocked, "longest": named or _LONGEST_NAME,
        "needs_email": not columns[profile.email].nullable,
    }  # fmt: skip


def _made(column: SqlColumn) -> tuple[str, Any] | None:
    """Return what an insert fills in by itself: see `Profile.made`."""
    if column.auto == "uuid":
        return "uuid", None
    if column.auto in _MOMENTS:
        return "moment", None
    return None if column.default is None else ("", column.default)
