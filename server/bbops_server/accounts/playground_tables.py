"""The table of requests that users have sent from the Playground."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from bbops_server.accounts.tables import EMAIL_LENGTH, METADATA, TEXT_LENGTH, Moment

ENDPOINT_LENGTH: Final = 400


def _text(name: str, length: int = TEXT_LENGTH) -> sa.Column[str]:
    return sa.Column(name, sa.String(length), nullable=False)


playground_calls = sa.Table(
    "playground_calls", METADATA,
    sa.Column(
        "number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True
    ),
    _text("who", EMAIL_LENGTH), _text("project"), _text("endpoint", ENDPOINT_LENGTH),
    sa.Column("at", Moment, nullable=False),
    _text("draft"), sa.Column("status", sa.Integer, nullable=False),
    sa.Column("microseconds", sa.BigInteger, nullable=False),
    sa.Column("form", sa.Text, nullable=False),
    sa.Index("playground_calls_of", "who", "project", "endpoint"),
)  # fmt: skip
"""`draft` is a branch, empty for live; `form` is the filled form as JSON, without secrets."""
