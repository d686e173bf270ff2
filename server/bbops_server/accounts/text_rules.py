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
    """Return an e-mail address without spaces around it.

    Raises:
        AccountError: it is not valid.
    """
    email = text.strip()
    if len(email) > EMAIL_LENGTH or not _EMAIL.fullmatch(email):
        raise AccountError("this is not an e-mail address", hint="such as ada@example.com")
    return email


def fold_email(email: str) -> str:
    """Return the form that all spellings of an address share."""
    return email.strip().casefold()[:EMAIL_LENGTH]


def tidy_text(text: str, what: str, *, required: bool = False) -> str:
    """Return one line of text without spaces around it.

    Raises:
        AccountError: it is too long, has invisible characters, or is missing.
    """
    found = text.strip()
    if required and not found:
        raise AccountError(f"the {what} is missing")
    if len(found) > TEXT_LENGTH or _ODD.search(found):
        raise AccountError(f"the {what} is one line of at most {TEXT_LENGTH} characters")
    return found


def check_password(password: str, email: str) -> None:
    """Refuse a password that is easy to guess. Spaces are allowed.

    Raises:
        AccountError: with the rule that it breaks.
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


# ---- Errors


class AccountError(BbopsError):
    """A request about accounts fails; the message reveals nothing of other users."""


class ControlAway(DatabaseError):
    """The control database is not available, and may be later."""
