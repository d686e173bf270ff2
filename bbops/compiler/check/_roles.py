"""Which roles the tokens of a project may have."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.language.expressions.nodes import Member, Name, Node
from bbops.language.expressions.values import Constant, Expression
from bbops.language.project import Project
from bbops.language.steps.generate_auth_token import GenerateAuthToken


def find_roles(project: Project) -> tuple[str, ...]:
    """Return the roles that `generateAuthToken` may put into a token; empty where nobody knows.

    They are known where each token takes its role from a row, or names it, and the column `role`
    of the users' table lists what it may hold. Tokens of others may have any role.
    """
    auth = project.settings.model.auth
    users = project.tables.get(auth.users or "") if auth and not auth.keys else None
    column = users.model.columns.get("role") if users else None
    made = list(_made(project))
    if column is None or column.enum is None or not made or None in made:
        return ()
    return tuple(dict.fromkeys([*map(str, column.enum), *filter(None, made)]))


def _made(project: Project) -> Iterator[str | None]:
    """Yield what each token has as its role: a text, empty for that of a row, None for others."""
    for function in project.functions.values():
        for step in function.model.every_step:
            if not isinstance(step, GenerateAuthToken):
                continue
            role = step.generate_auth_token.role
            if role is None or (isinstance(role, Expression) and _is_of_a_row(role.node)):
                yield ""
            else:
                is_text = isinstance(role, Constant) and isinstance(role.value, str)
                yield str(role.value) if is_text and isinstance(role, Constant) else None


def _is_of_a_row(node: Node) -> bool:
    """Return whether it is `vars.user.role`, as a step before has found or made it."""
    if not isinstance(node, Member) or node.name != "role":
        return False
    of = node.of
    return isinstance(of, Member) and isinstance(of.of, Name) and of.of.name == "vars"
