"""Say how somebody of a draft's own database is signed in to it."""

from __future__ import annotations

from typing import Final

from bbops.interfaces.mcp.drafting.bench import Bench
from bbops.interfaces.mcp.project.preview_request import Signing, Users
from bbops.interfaces.mcp.tool import Call, Refused

_TOLD: Final[tuple[str, ...]] = ("email", "role")
USERS: Final = "users"
"""The table that is meant where `auth.users` names none."""


def do(bench: Bench, taken: Users) -> Signing:
    """Return where a commit's users are, and what a token of one tells.

    Raises:
        Refused: nobody signs in to it, or it has no table of users.
    """
    project, _ = bench.check(bench.tree(taken.commit))
    auth = project.settings.model.auth if project else None
    if project is None or auth is None:
        raise _refused(
            "this draft has no sign-in: its project.yaml has no 'auth'",
            "add 'auth: { users: …, signingKey: ${ env.… } }', or leave out 'as'",
        )
    name = auth.users or USERS
    table, model = project.sql_tables.get(name), project.tables.get(name)
    if table is None or model is None or len(table.key) != 1:
        raise _refused(
            "'auth' names no users table with a single-column primary key",
            "write 'users: TABLE' under 'auth' in project.yaml",
        )
    columns = model.model.columns
    tells = [one for one in _TOLD if one in columns and not columns[one].private]
    texts = [one for one in tells if table.columns[one].value_type.kind == "text"]
    return Signing(name, table.key[0], "email" in columns, texts, auth.schemes[0])


def _refused(message: str, hint: str) -> Refused:
    call = Call("context_schema", {"kind": "settings"}, "see the schema of 'auth'")
    return Refused(message, hint=hint, next=(call,))
