"""Who could review what somebody proposes."""

from __future__ import annotations

from bbops_server.accounts.book import Book
from bbops_server.accounts.rules import Caller, Role, role_in


def is_alone(book: Book, author: str, project: str) -> bool:
    """Return whether nobody but the author of a proposal could review it; blocks."""
    roles = book.members.roles_of_all()
    for one in book.people.list():
        role, projects = roles.get(one.id, (None, {}))
        found = role_in(Caller(role=role, projects=projects), project)
        can = found is not None and found.rank >= Role.DEVELOPER.rank and one.disabled is None
        if can and one.email != author:
            return False
    return True
