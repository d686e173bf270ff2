"""Rules for texts and passwords of accounts, and the errors of accounts."""

from __future__ import annotations

import re
from typing import Final

from bbops.base.errors import BbopsError, DatabaseError
from bbops_server.accounts.tables import EMAIL_LENGTH, TEXT_LENGTH

LEAST_PASSWORD: Final = 12
MOST_PASSWORD: Final = 1_000
_FEWEST_SIGNS: Final = 5
_EMAIL: Final = re.compile(
    r"[^\s@<>\"'(),:;\\\[\]\x00-\x1f\x7f]{1,64}@[^\s@<>\"'(),:;\\\x00-\x1f]+"
)
_ODD: Final = re.compile(r"[\x00-\x1f\x7f\u202a-\u202e\u2066-\u2069]")


def tidy_email(text: str) -> str:
    """Return an e-mail address without the blanks around it.

    Raises:
        AccountError: it is none.
    """
    email = text.strip()
    if len(email) > EMAIL_LENGTH or not _EMAIL.fullmatch(email):
        raise AccountError("this is not an e-mail address", hint="such as ada@example.com")
    return email


def fold_email(email: str) -> str:
    """Return what two spellings of one address have in common."""
    return email.strip().casefold()[:EMAIL_LENGTH]


def tidy_text(text: str, what: str, *, required: bool = False) -> str:
    """Return one line of text without the blanks around it.

    Raises:
        AccountError: it is too long, has signs that cannot be seen, or is missing.
    """
    found = text.strip()
    if required and not found:
        raise AccountError(f"the {what} is missing")
    if len(found) > TEXT_LENGTH or _ODD.search(found):
        raise AccountError(f"the {what} is one line of at most {TEXT_LENGTH} characters")
    return found


def check_password(password: str, email: str) -> None:
    """Refuse a password that is guessed first. Any length above counts, spaces too.

    Raises:
        AccountError: says what it must be.
    """
    if not LEAST_PASSWORD <= len(password) <= MOST_PASSWORD:
        raise AccountError(
            f"a password has at least {LEAST_PASSWORD} characters, at most {MOST_PASSWORD:,}",
            hint="a few unrelated words are easy to remember",
        )
    folded = password.casefold()
    local = fold_email(email).partition("@")[0]
    if folded in {fold_email(email), local}:
        raise AccountError("the password must not be the e-mail address")
    if len(set(folded)) < _FEWEST_SIGNS:
        raise AccountError(f"a password has at least {_FEWEST_SIGNS} different characters")


# ---- What is wrong with what somebody asked of an account, or with where accounts are kept


class AccountError(BbopsError):
    """It cannot be done as asked; the message is for whoever asked, and tells of nobody else."""


class ControlAway(DatabaseError):
    """The control database is not at hand; asked again later, it may be."""
