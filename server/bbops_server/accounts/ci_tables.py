"""The tables of workflows' tokens, and of the identity tokens that were exchanged for them."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from bbops_server.accounts.tables import METADATA, TEXT_LENGTH, Moment

REF_LENGTH: Final = 250


def _text(name: str, length: int = TEXT_LENGTH) -> sa.Column[str]:
    return sa.Column(name, sa.String(length), nullable=False)


def _hash(name: str = "hash") -> sa.Column[str]:
    return sa.Column(name, sa.String(64), primary_key=True)


def _moment(name: str) -> sa.Column[object]:
    return sa.Column(name, Moment, nullable=False)


ci_tokens = sa.Table(
    "ci_tokens", METADATA, _hash(), _text("id", 32), _text("trust", 64), _text("project"),
    _text("repository"), _text("ref", REF_LENGTH), _text("sha", 64), _text("run"), _text("actor"),
    _moment("created"), _moment("expires"),
)  # fmt: skip
"""`trust` is the digest of a `CiTrust`: without it in the settings, a token is not valid."""

ci_assertions = sa.Table("ci_assertions", METADATA, _hash(), _moment("expires"))
"""Identity tokens that were exchanged; each is accepted once."""

TABLES: Final = [ci_tokens, ci_assertions]
