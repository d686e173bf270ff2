"""Check whether the user of an earlier decision may still make it.

Decisions outlive the request that made them: an accepted commit, an allowed commit of a fork, the
hosts of a draft, a commit that goes live during a freeze. They count as long as their user has the
permission for them.
"""

from __future__ import annotations

from bbops_server.accounts.features import open_accounts
from bbops_server.accounts.rules import LOCAL, Caller, Permission, may
from bbops_server.process.host.files import CONTROL_FILE
from bbops_server.settings import Settings


def may_still(settings: Settings, who: str, permission: Permission, project: str) -> bool:
    """Return whether a decision still counts; blocks.

    Args:
        settings: of the server.
        who: the e-mail address or the account's id in the decision; empty, and `local`, for the
            user of this machine.
        permission: the permission that the decision needs.
        project: the name of the project.

    Raises:
        DatabaseError: the accounts cannot be read.
    """
    if who in {"", LOCAL.email}:
        return True
    if settings.accounts is None and not (settings.state / f"{CONTROL_FILE}.sqlite").exists():
        return False  # opening it would create a new file, with which anybody could set up
    book = open_accounts(settings.state, settings.accounts)
    person = book.people.get(who)
    if person is None or person.disabled is not None:
        return False
    role, projects = book.members.roles(person.id)
    caller = Caller("session", person.id, person.email, role=role, projects=projects)
    return may(caller, permission, project)
