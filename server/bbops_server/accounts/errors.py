"""What is wrong with what somebody asked of an account, or with where accounts are kept."""

from __future__ import annotations

from bbops.base.errors import BbopsError, DatabaseError


class AccountError(BbopsError):
    """It cannot be done as asked; the message is for whoever asked, and tells of nobody else."""


class ControlAway(DatabaseError):
    """The control database is not at hand; asked again later, it may be."""
