"""bbops' own tables beside a project's tables; their names begin with `_bbops_`."""

from __future__ import annotations

from typing import Any, Final

import psycopg

from bbops.database.postgres.publications import PUBLICATION_TABLES
from bbops.database.postgres.work import WORK_TABLES

_TABLES: Final = (
    """
CREATE TABLE IF NOT EXISTS _bbops_schema (
  id integer PRIMARY KEY CHECK (id = 1), hash text NOT NULL, spec text NOT NULL,
  applied_at text NOT NULL
)
""",
    # A sign-in is a family of tokens: each but the newest refers to its successor.
    # A user's key is kept as JSON: it may be a number or a text.
    """
CREATE TABLE IF NOT EXISTS _bbops_refresh_tokens (
  hash text PRIMARY KEY, family text NOT NULL, user_id text NOT NULL,
  expires_at double precision NOT NULL, successor text
)
""",
    *(
        f"CREATE INDEX IF NOT EXISTS _bbops_refresh_tokens_{column}"
        f" ON _bbops_refresh_tokens ({column})"
        for column in ("family", "user_id", "expires_at")
    ),
    # The successor of a token that has just been replaced; empty most of the time.
    """
CREATE TABLE IF NOT EXISTS _bbops_refresh_salts (
  hash text PRIMARY KEY, salt text NOT NULL, replaced_at double precision NOT NULL
)
""",
    """
CREATE TABLE IF NOT EXISTS _bbops_api_keys (
  id text PRIMARY KEY, hash text NOT NULL UNIQUE, prefix text NOT NULL, name text NOT NULL,
  channels text, claims text, created_at double precision NOT NULL, expires_at double precision,
  revoked_at double precision
)
""",
    # Apart from the keys: they are read at requests, and this is written every minute.
    """
CREATE TABLE IF NOT EXISTS _bbops_api_key_uses (
  id text PRIMARY KEY, used_at double precision NOT NULL
)
""",
    # A packed response: status, body, headers and type. Null: there is none yet.
    """
CREATE TABLE IF NOT EXISTS _bbops_idempotency (
  id text PRIMARY KEY, request text NOT NULL, began_at double precision NOT NULL, answer bytea
)
""",
    "CREATE INDEX IF NOT EXISTS _bbops_idempotency_began_at ON _bbops_idempotency (began_at)",
    "CREATE TABLE IF NOT EXISTS _bbops_notes (name text PRIMARY KEY, text text NOT NULL)",
    # The time of the next request for an account at a vendor: see `bbops.runtime.vendors._pace`.
    """
CREATE TABLE IF NOT EXISTS _bbops_pace (account text PRIMARY KEY, free double precision NOT NULL)
""",
    # The user of a provider's subject; a user's key is stored as JSON.
    """
CREATE TABLE IF NOT EXISTS _bbops_identities (
  issuer text NOT NULL, subject text NOT NULL, user_id text NOT NULL,
  created_at double precision NOT NULL, PRIMARY KEY (issuer, subject)
)
""",
    # Finished sign-ins of a browser, for as long as it could repeat them.
    """
CREATE TABLE IF NOT EXISTS _bbops_used_sign_ins (
  id text PRIMARY KEY, expires_at double precision NOT NULL
)
""",
    *WORK_TABLES,
    *PUBLICATION_TABLES,
)


def make_own_tables(live: psycopg.Connection[Any]) -> None:
    """Create the missing tables."""
    for statement in _TABLES:
        live.execute(statement.encode())
