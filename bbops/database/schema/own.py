"""bbops' own tables beside a project's tables; their names begin with `_bbops_`."""

from __future__ import annotations

import sqlite3
from typing import Final

from bbops.database.schema.work_tables import Types, work_tables

# A sign-in is a family of tokens: each but the newest refers to its successor.
_REFRESH_TOKENS: Final = """
CREATE TABLE IF NOT EXISTS _bbops_refresh_tokens (
  hash TEXT PRIMARY KEY, family TEXT NOT NULL, user_id ANY NOT NULL, expires_at REAL NOT NULL,
  successor TEXT
) STRICT, WITHOUT ROWID
"""
# The successor of a token that has just been replaced; empty most of the time.
_REFRESH_SALTS: Final = """
CREATE TABLE IF NOT EXISTS _bbops_refresh_salts (
  hash TEXT PRIMARY KEY, salt TEXT NOT NULL, replaced_at REAL NOT NULL
) STRICT, WITHOUT ROWID
"""
_API_KEYS: Final = """
CREATE TABLE IF NOT EXISTS _bbops_api_keys (
  id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, prefix TEXT NOT NULL, name TEXT NOT NULL,
  channels TEXT, claims TEXT, created_at REAL NOT NULL, expires_at REAL, revoked_at REAL
) STRICT, WITHOUT ROWID
"""
# Apart from the keys: they are read at requests, and this is written every minute.
_API_KEY_USES: Final = """
CREATE TABLE IF NOT EXISTS _bbops_api_key_uses (
  id TEXT PRIMARY KEY, used_at REAL NOT NULL
) STRICT, WITHOUT ROWID
"""
# A packed response: status, body, headers and type. Null: there is none yet.
_IDEMPOTENCY: Final = """
CREATE TABLE IF NOT EXISTS _bbops_idempotency (
  id TEXT PRIMARY KEY, request TEXT NOT NULL, began_at REAL NOT NULL, answer BLOB
) STRICT, WITHOUT ROWID
"""
# The time of the next request for an account at a vendor: see `bbops.runtime.vendors._pace`.
_PACE: Final = """
CREATE TABLE IF NOT EXISTS _bbops_pace (account TEXT PRIMARY KEY, free REAL NOT NULL)
STRICT, WITHOUT ROWID
"""
# The user of a provider's subject; a user's key is stored as JSON.
_IDENTITIES: Final = """
CREATE TABLE IF NOT EXISTS _bbops_identities (
  issuer TEXT NOT NULL, subject TEXT NOT NULL, user_id TEXT NOT NULL, created_at REAL NOT NULL,
  PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID
"""
# Finished sign-ins of a browser, for as long as it could repeat them.
_USED_SIGN_INS: Final = """
CREATE TABLE IF NOT EXISTS _bbops_used_sign_ins (id TEXT PRIMARY KEY, expires_at REAL NOT NULL)
STRICT, WITHOUT ROWID
"""
_RECORD: Final = (
    "CREATE TABLE IF NOT EXISTS _bbops_schema (id INTEGER PRIMARY KEY CHECK (id = 1),"
    " hash TEXT NOT NULL, spec TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT"
)
_NOTES: Final = (
    "CREATE TABLE IF NOT EXISTS _bbops_notes (name TEXT PRIMARY KEY, text TEXT NOT NULL)"
    " STRICT, WITHOUT ROWID"
)

_WORK: Final = work_tables(
    Types("INTEGER PRIMARY KEY AUTOINCREMENT", "INTEGER", "TEXT", "BLOB", "INTEGER", " STRICT",
          " STRICT")
)  # fmt: skip

NEWEST: Final = "_bbops_used_sign_ins"
"""The newest of these tables in both databases."""


def make_own_tables(live: sqlite3.Connection) -> None:
    """Create the missing tables."""
    live.execute(_RECORD)
    live.execute(_REFRESH_TOKENS)
    for column in ("family", "user_id", "expires_at"):
        live.execute(
            f"CREATE INDEX IF NOT EXISTS _bbops_refresh_tokens_{column}"
            f" ON _bbops_refresh_tokens ({column})"
        )
    live.execute(_REFRESH_SALTS)
    live.execute(_API_KEYS)
    live.execute(_API_KEY_USES)
    live.execute(_IDEMPOTENCY)
    live.execute(
        "CREATE INDEX IF NOT EXISTS _bbops_idempotency_began_at ON _bbops_idempotency (began_at)"
    )
    live.execute(_NOTES)
    live.execute(_PACE)
    live.execute(_IDENTITIES)
    live.execute(_USED_SIGN_INS)
    for statement in _WORK:
        live.execute(statement)
