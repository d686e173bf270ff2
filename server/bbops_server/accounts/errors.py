"""What is wrong with what somebody asked of an account."""

from __future__ import annotations

from bbops.errors import BbopsError


class AccountError(BbopsError):
    """It cannot be done as asked; the message is for whoever asked, and tells of nobody else."""
