"""Possible reviewers of a proposal."""

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
    """Return the e-mail addresses of users who may review proposals of a project."""
    roles, found = Members(store).roles_of_all(), []
    for person in People(store).list():
        role, projects = roles.get(person.id, (None, {}))
        own = role_in(Caller(role=role, projects=projects), project)
        if own is not None and own.rank >= Role.DEVELOPER.rank and person.disabled is None:
            found.append(person.email)
    return found


def require_reviewers(
    store: Store, project: str, author: str, wanted: Sequence[str]
) -> tuple[str, ...]:
    """Return the checked reviewers without duplicates, with their own spelling of their addresses.

    Raises:
        AccountError: one of them may not review, or is the author; or they are too many.
    """
    if len(wanted) > MOST_ASKED:
        raise AccountError(f"at most {MOST_ASKED} people are asked for a review")
    known = {fold_email(email): email for email in find_reviewers(store, project)}
    for email in wanted:
        if fold_email(email) not in known or fold_email(email) == fold_email(author):
            raise AccountError(
                f"'{email[:100]}' cannot review this proposal of '{project}'",
                hint="give the e-mail address of another member who is a developer there",
            )
    return tuple(dict.fromkeys(known[fold_email(email)] for email in wanted))
