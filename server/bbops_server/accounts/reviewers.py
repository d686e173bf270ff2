"""Who could review what somebody proposes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bbops_server.accounts.members import Members
from bbops_server.accounts.people import People
from bbops_server.accounts.rules import Caller, Role, role_in
from bbops_server.accounts.store import Store
from bbops_server.accounts.text_rules import AccountError, fold_email

MOST_ASKED: Final = 20


def find_reviewers(store: Store, project: str) -> list[str]:
    """Return the e-mail addresses of all who may review proposals of a project."""
    roles, found = Members(store).roles_of_all(), []
    for one in People(store).list():
        role, projects = roles.get(one.id, (None, {}))
        own = role_in(Caller(role=role, projects=projects), project)
        if own is not None and own.rank >= Role.DEVELOPER.rank and one.disabled is None:
            found.append(one.email)
    return found


def require_reviewers(
    store: Store, project: str, author: str, wanted: Sequence[str]
) -> tuple[str, ...]:
    """Return those who are asked, each once, as they spell their own address.

    Raises:
        AccountError: one of them may not review, or is the author; or they are too many.
    """
    if len(wanted) > MOST_ASKED:
        raise AccountError(f"at most {MOST_ASKED} people are asked for a review")
    known = {fold_email(one): one for one in find_reviewers(store, project)}
    for one in wanted:
        if fold_email(one) not in known or fold_email(one) == fold_email(author):
            raise AccountError(
                f"'{one[:100]}' cannot review this proposal of '{project}'",
                hint="give the e-mail address of another member who is a developer there",
            )
    return tuple(dict.fromkeys(known[fold_email(one)] for one in wanted))
