"""The tables of the control database, without a feature of only one database.

Credentials are stored as hashes only.
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


# ---- The tables of grants: what people let agents do, and the keys that agents ask by
# A key is kept as a hash only, as in the tables beside these.


# ---- The tables of proposals, beside those of accounts


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


CLIENT_LENGTH: Final = 512
"""A client's id may be the address of a document about it."""
ADDRESS_LENGTH: Final = 500


def _hash(name: str = "hash") -> sa.Column[str]:
    return _text(name, 64, primary_key=True)


def _grant(*, nullable: bool = False) -> sa.Column[str]:
    reference = sa.ForeignKey("oauth_grants.id", ondelete="CASCADE")
    return sa.Column("grant_id", sa.String(32), reference, nullable=nullable, index=True)


oauth_clients = sa.Table(
    "oauth_clients", METADATA, _text("id", CLIENT_LENGTH, primary_key=True), _text("kind", 16),
    sa.Column("metadata", sa.Text, nullable=False),
    _moment("checked"), _moment("used", nullable=True),
)  # fmt: skip
"""`kind` is `registered` or `document`; `checked` is the time of the last check."""

oauth_grants = sa.Table(
    "oauth_grants", METADATA, _text("id", 32, primary_key=True),
    sa.Column(
        "person", sa.String(32), sa.ForeignKey("people.id", ondelete="CASCADE"), nullable=False,
        index=True,
    ),
    _text("client", CLIENT_LENGTH), _text("client_name"), _text("scopes"),
    _text("resource", ADDRESS_LENGTH), _text("project"),
    _moment("created"), _moment("expires"), _moment("last_used", nullable=True),
    _moment("revoked", nullable=True),
)  # fmt: skip
"""Approved access. Its codes and tokens end with it."""

oauth_codes = sa.Table(
    "oauth_codes", METADATA, _hash(), _grant(), _text("redirect_uri", 2_000),
    _text("challenge", 64), _moment("expires"), _moment("used", nullable=True),
)  # fmt: skip

oauth_tokens = sa.Table(
    "oauth_tokens", METADATA, _hash(),
    _text("refresh_hash", 64, unique=True, nullable=True), _grant(), _text("scopes"),
    _moment("expires"), _moment("refresh_expires"), _moment("rotated", nullable=True),
)  # fmt: skip

oauth_devices = sa.Table(
    "oauth_devices", METADATA, _hash(), _text("user_code", 16, unique=True),
    _text("client", CLIENT_LENGTH), _text("client_name"), _text("scopes"),
    _text("resource", ADDRESS_LENGTH), _text("project"), _text("address", 64),
    _moment("expires"), _moment("asked", nullable=True),
    sa.Column("interval_seconds", sa.Integer, nullable=False), _text("outcome", 16),
    _grant(nullable=True),
)  # fmt: skip
"""`outcome` is `pending`, `approved`, `denied` or `used`."""

mcp_addresses = sa.Table(
    "mcp_addresses", METADATA, _text("key", 32, primary_key=True), _text("project", unique=True)
)

GRANT_TABLES: Final = (
    oauth_clients, oauth_grants, oauth_codes, oauth_tokens, oauth_devices, mcp_addresses,
)  # fmt: skip


REF_LENGTH: Final = 250


ci_tokens = sa.Table(
    "ci_tokens", METADATA, _hash(), _text("id", 32), _text("trust", 64), _text("project"),
    _text("repository"), _text("ref", REF_LENGTH), _text("sha", 64), _text("run"), _text("actor"),
    _moment("created"), _moment("expires"),
)  # fmt: skip
"""`trust` is the digest of a `CiTrust`: without it in the settings, a token is not valid."""

ci_assertions = sa.Table("ci_assertions", METADATA, _hash(), _moment("expires"))
"""Identity tokens that were exchanged; each is accepted once."""

CI_TABLES: Final = [ci_tokens, ci_assertions]


ENDPOINT_LENGTH: Final = 400


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


TITLE_LENGTH: Final = 200
WORDS_LENGTH: Final = 20_000
REVIEWERS_LENGTH: Final = 6_000
_COMMIT_LENGTH = 64


def _number() -> sa.Column[int]:
    return sa.Column("number", sa.Integer, primary_key=True, autoincrement=False)


proposals = sa.Table(
    "proposals", METADATA, _text("project", primary_key=True), _number(),
    _text("title", TITLE_LENGTH), _text("description", WORDS_LENGTH),
    _text("author", EMAIL_LENGTH), _text("target"), _text("topic"), _text("state", 16),
    _text("head", _COMMIT_LENGTH), _text("merged", _COMMIT_LENGTH),
    _moment("created"), _moment("changed"),
    sa.Column("ready", sa.Boolean, nullable=False, server_default=sa.true()),
    sa.Column("reviewers", sa.String(REVIEWERS_LENGTH), nullable=False, server_default=""),
    sa.Column("pushers", sa.String(REVIEWERS_LENGTH), nullable=False, server_default=""),
)  # fmt: skip
"""`reviewers` and `pushers` are e-mail addresses with blanks between them."""

reviews = sa.Table(
    "reviews", METADATA, _text("project", primary_key=True), _number(),
    sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
    _text("who", EMAIL_LENGTH), _moment("at"), _text("verdict", 16), _text("words", WORDS_LENGTH),
    _text("head", _COMMIT_LENGTH), _text("plan", _COMMIT_LENGTH),
)  # fmt: skip
"""`place` is the position among the reviews of a proposal."""

replays = sa.Table(
    "replays", METADATA, _text("project", primary_key=True), _number(),
    _text("head", _COMMIT_LENGTH), sa.Column("found", sa.Text, nullable=False),
)  # fmt: skip
"""The result of the last replay against a proposal's draft, as JSON."""

merge_statuses = sa.Table(
    "standings", METADATA, _text("project", primary_key=True), _number(),
    sa.Column("found", sa.Text, nullable=False),
)  # fmt: skip
"""The last merge status of a proposal before its merge or end, as JSON."""

arrivals = sa.Table(
    "arrivals", METADATA, _text("commit_id", _COMMIT_LENGTH, primary_key=True),
    _text("who", EMAIL_LENGTH, primary_key=True),
    sa.Column("at", Moment, nullable=False, index=True),
)  # fmt: skip
"""Users who pushed commits to repositories of this server."""
