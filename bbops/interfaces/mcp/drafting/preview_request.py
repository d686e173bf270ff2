"""Describe the sign-in of a draft's users."""

from __future__ import annotations

from typing import Final

from bbops.interfaces.mcp.drafting.project_repository import ProjectRepository
from bbops.interfaces.mcp.project.preview_request import DraftSignIn, SignInParams
from bbops.interfaces.mcp.tool import NextCall, ToolError

_CLAIMS: Final[tuple[str, ...]] = ("email", "role")
USERS: Final = "users"
"""The default of `auth.users`."""


def do(repository: ProjectRepository, params: SignInParams) -> DraftSignIn:
    """Return the users table of a commit, and the columns in a user's token.

    Raises:
        Refused: the draft has no sign-in, or no users table.
    """
    project, _ = repository.check(repository.tree(params.commit))
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
    claims = [name for name in _CLAIMS if name in columns and not columns[name].private]
    texts = [name for name in claims if table.columns[name].value_type.kind == "text"]
    return DraftSignIn(name, table.key[0], "email" in columns, texts, auth.schemes[0])


def _refused(message: str, hint: str) -> ToolError:
    call = NextCall("context_schema", {"kind": "settings"}, "see the schema of 'auth'")
    return ToolError(message, hint=hint, next=(call,))
