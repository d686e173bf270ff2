"""The tables of grants: what people let agents do, and the keys that agents ask by.

A key is kept as a hash only, as in the tables beside these.
"""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa

from bbops_server.accounts.tables import METADATA, TEXT_LENGTH, Moment

CLIENT_LENGTH: Final = 512
"""A client's id may be the address of a document about it."""
ADDRESS_LENGTH: Final = 500


def _text(name: str, length: int = TEXT_LENGTH, **more: Any) -> sa.Column[str]:
    return sa.Column(name, sa.String(length), **{"nullable": False, **more})


def _hash(name: str = "hash") -> sa.Column[str]:
    return _text(name, 64, primary_key=True)


def _moment(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, Moment, nullable=nullable)


def _grant(*, nullable: bool = False) -> sa.Column[str]:
    reference = sa.ForeignKey("oauth_grants.id", ondelete="CASCADE")
    return sa.Column("grant_id", sa.String(32), reference, nullable=nullable, index=True)


oauth_clients = sa.Table(
    "oauth_clients", METADATA, _text("id", CLIENT_LENGTH, primary_key=True), _text("kind", 16),
    sa.Column("metadata", sa.Text, nullable=False),
    _moment("checked"), _moment("used", nullable=True),
)  # fmt: skip
"""`kind` is `registered` or `document`; `checked` is when it was told what it is."""

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
"""What somebody approved. Every code and token of it dies with it."""

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

TABLES: Final = (
    oauth_clients, oauth_grants, oauth_codes, oauth_tokens, oauth_devices, mcp_addresses,
)  # fmt: skip
