"""The tables of the control database, without a word that only one database knows.

What somebody could sign in with is kept as a hash only.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

EMAIL_LENGTH: Final = 254
TEXT_LENGTH: Final = 200
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Moment(sa.types.TypeDecorator[datetime]):
    """An aware UTC datetime, kept as microseconds: every database orders them alike."""

    impl = sa.BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Any) -> int | None:  # noqa: ARG002
        """Return the microseconds."""
        return None if value is None else (value - _EPOCH) // timedelta(microseconds=1)

    def process_result_value(self, value: int | None, dialect: Any) -> datetime | None:  # noqa: ARG002
        """Return the datetime."""
        return None if value is None else _EPOCH + timedelta(microseconds=value)


METADATA: Final = sa.MetaData()


def _text(name: str, length: int = TEXT_LENGTH, **more: Any) -> sa.Column[str]:
    return sa.Column(name, sa.String(length), **{"nullable": False, **more})


def _moment(name: str, *, nullable: bool = False) -> sa.Column[datetime]:
    return sa.Column(name, Moment, nullable=nullable)


def _person() -> sa.Column[str]:
    reference = sa.ForeignKey("people.id", ondelete="CASCADE")
    return sa.Column("person", sa.String(32), reference, nullable=False)


def _id() -> sa.Column[str]:
    return _text("id", 32, primary_key=True)


people = sa.Table(
    "people", METADATA, _id(),
    _text("email", EMAIL_LENGTH),
    _text("email_folded", EMAIL_LENGTH, unique=True),
    sa.Column("is_verified", sa.Boolean, nullable=False),
    _text("name"),
    _text("company"),
    _text("password_hash", nullable=True),
    _moment("created"), _moment("last_sign_in", nullable=True), _moment("disabled", nullable=True),
)  # fmt: skip

identities = sa.Table(
    "identities", METADATA,
    _text("provider", primary_key=True), _text("subject", 255, primary_key=True),
    _person(), _moment("created"),
)  # fmt: skip

sessions = sa.Table(
    "sessions", METADATA, _id(),
    _text("hash", 64, unique=True), _person(),
    _moment("created"), _moment("last_seen"), _moment("expires"),
    _text("user_agent"), _text("address", 64),
)  # fmt: skip

tokens = sa.Table(
    "tokens", METADATA, _id(),
    _text("hash", 64, unique=True), _person(), _text("name"), _text("prefix", 16),
    _text("scopes"), _text("project"),
    _moment("created"), _moment("expires", nullable=True), _moment("last_used", nullable=True),
    _moment("revoked", nullable=True),
)  # fmt: skip

memberships = sa.Table(
    "memberships", METADATA,
    sa.Column("person", sa.ForeignKey("people.id", ondelete="CASCADE"), primary_key=True),
    _text("workspace", 32, primary_key=True), _text("role", 16),
)  # fmt: skip

project_roles = sa.Table(
    "project_roles", METADATA,
    sa.Column("person", sa.ForeignKey("people.id", ondelete="CASCADE"), primary_key=True),
    _text("project", primary_key=True), _text("role", 16),
)  # fmt: skip

invitations = sa.Table(
    "invitations", METADATA, _id(),
    _text("hash", 64, unique=True), _text("email", EMAIL_LENGTH), _text("role", 16),
    _text("project"), _text("invited_by", EMAIL_LENGTH),
    _moment("created"), _moment("expires"), _moment("used", nullable=True),
)  # fmt: skip

workspaces = sa.Table(
    "workspaces", METADATA, _id(), _text("name"), _text("company"), _text("features", 2_000),
)  # fmt: skip

audit = sa.Table(
    "audit", METADATA,
    sa.Column(
        "number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True
    ),
    _moment("at"), _text("who", EMAIL_LENGTH), _text("token", 32), _text("action"),
    _text("object", 300), _text("address", 64), _text("outcome", 64),
)  # fmt: skip

schema_steps = sa.Table(
    "schema_steps", METADATA, sa.Column("number", sa.Integer, primary_key=True), _moment("at")
)
