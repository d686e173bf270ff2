"""The tables of bbops beside a project's tables, `_bbops_…`: accounts, work, agents."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Final

AGENT_TABLES: Final = """
CREATE TABLE IF NOT EXISTS _bbops_chats (id {text} PRIMARY KEY, agent {text} NOT NULL,
  owner {text} NOT NULL, began_at {number} NOT NULL, spoke_at {number} NOT NULL,
  keep_until {number} NOT NULL){ends};
CREATE INDEX IF NOT EXISTS _bbops_chats_kept ON _bbops_chats (keep_until);
CREATE TABLE IF NOT EXISTS _bbops_runs (uid {text} PRIMARY KEY, agent {text} NOT NULL,
  start {text} NOT NULL, chat {text} NOT NULL, owner {text} NOT NULL, state {text} NOT NULL,
  answer {text}, error {text} NOT NULL, tokens_in {number} NOT NULL, tokens_out {number} NOT NULL,
  micro_money {number} NOT NULL, began_at {number} NOT NULL, ended_at {number}){ends};
CREATE INDEX IF NOT EXISTS _bbops_runs_chat ON _bbops_runs (chat, began_at);
CREATE INDEX IF NOT EXISTS _bbops_runs_agent ON _bbops_runs (agent, began_at);
CREATE INDEX IF NOT EXISTS _bbops_runs_began ON _bbops_runs (began_at);
CREATE TABLE IF NOT EXISTS _bbops_run_steps (run {text} NOT NULL, number {number} NOT NULL,
  kind {text} NOT NULL, name {text} NOT NULL, content {text} NOT NULL,
  tokens_in {number} NOT NULL, tokens_out {number} NOT NULL, ms {number} NOT NULL,
  at {number} NOT NULL, PRIMARY KEY (run, number)){ends};
CREATE TABLE IF NOT EXISTS _bbops_approvals (id {text} PRIMARY KEY, run {text} NOT NULL,
  agent {text} NOT NULL, chat {text} NOT NULL, owner {text} NOT NULL, tool {text} NOT NULL,
  arguments {text} NOT NULL, state {text} NOT NULL, decided_by {text} NOT NULL,
  asked_at {number} NOT NULL, decided_at {number}, expires_at {number} NOT NULL){ends};
CREATE INDEX IF NOT EXISTS _bbops_approvals_run ON _bbops_approvals (run);
CREATE INDEX IF NOT EXISTS _bbops_approvals_waiting ON _bbops_approvals (asked_at)
  WHERE state = 'waiting'
"""


# ---- The tables of work outside of requests, for both databases
# Frequent queries of the engine have small indexes of their own: a claim costs the same beside a
# million sleeping jobs.

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS _bbops_outbox (id {id}, name {text} NOT NULL, key {text} NOT NULL,
  payload {text} NOT NULL, at {number} NOT NULL, cause {text} NOT NULL, depth {number} NOT NULL,
  job {text}){queue};
CREATE TABLE IF NOT EXISTS _bbops_received (hook {text} NOT NULL, name {text} NOT NULL,
  received_at {number} NOT NULL, headers {text} NOT NULL, body {text} NOT NULL,
  PRIMARY KEY (hook, name)){ends};
CREATE INDEX IF NOT EXISTS _bbops_received_at ON _bbops_received (received_at);
CREATE TABLE IF NOT EXISTS _bbops_messages (id {text} PRIMARY KEY, webhook {text} NOT NULL,
  event {text} NOT NULL, body {text} NOT NULL, at {number} NOT NULL){ends};
CREATE INDEX IF NOT EXISTS _bbops_messages_at ON _bbops_messages (at);
CREATE TABLE IF NOT EXISTS _bbops_sent (uid {text} PRIMARY KEY, webhook {text} NOT NULL,
  message {text} NOT NULL, receiver {text} NOT NULL, state {text} NOT NULL,
  tries {number} NOT NULL, tried_at {number} NOT NULL, error {text} NOT NULL){ends};
CREATE INDEX IF NOT EXISTS _bbops_sent_tried ON _bbops_sent (tried_at);
CREATE TABLE IF NOT EXISTS _bbops_tries (id {id}, uid {text} NOT NULL, at {number} NOT NULL,
  status {number}, answer {text} NOT NULL, error {text} NOT NULL);
CREATE INDEX IF NOT EXISTS _bbops_tries_uid ON _bbops_tries (uid, id);
CREATE INDEX IF NOT EXISTS _bbops_tries_at ON _bbops_tries (at);
CREATE TABLE IF NOT EXISTS _bbops_receivers (webhook {text} NOT NULL, receiver {text} NOT NULL,
  failing_since {number}, disabled_at {number}, PRIMARY KEY (webhook, receiver)){ends};
CREATE TABLE IF NOT EXISTS _bbops_keys (key {text} PRIMARY KEY, uid {text} NOT NULL){ends};
CREATE TABLE IF NOT EXISTS _bbops_results (uid {text} PRIMARY KEY, outcome {text} NOT NULL,
  attempts {number} NOT NULL, value {text}, ended_at {number} NOT NULL){ends};
CREATE INDEX IF NOT EXISTS _bbops_results_ended ON _bbops_results (ended_at);
CREATE TABLE IF NOT EXISTS _bbops_cause (id {number} NOT NULL PRIMARY KEY, job {text} NOT NULL,
  depth {number} NOT NULL){ends};
CREATE TABLE IF NOT EXISTS _bbops_events (seq {number} NOT NULL PRIMARY KEY, name {text} NOT NULL,
  key {text} NOT NULL, payload {text} NOT NULL, at {number} NOT NULL, cause {text} NOT NULL,
  depth {number} NOT NULL){ends};
CREATE TABLE IF NOT EXISTS _bbops_jobs (id {id}, uid {text} NOT NULL UNIQUE, work {text} NOT NULL,
  payload {text} NOT NULL, state {text} NOT NULL, priority {number} NOT NULL DEFAULT 1,
  run_at {number} NOT NULL DEFAULT 0, lane {text}, seats {number} NOT NULL DEFAULT 1,
  debounced {flag} NOT NULL DEFAULT false, attempts {number} NOT NULL DEFAULT 0, owner {text},
  fence {number} NOT NULL DEFAULT 0, lease {number} NOT NULL DEFAULT 0,
  code {text} NOT NULL DEFAULT '', seq {number} NOT NULL DEFAULT 0,
  cause {text} NOT NULL DEFAULT '', depth {number} NOT NULL DEFAULT 0,
  error {text} NOT NULL DEFAULT '', created_at {number} NOT NULL){queue};
CREATE INDEX IF NOT EXISTS _bbops_jobs_ready ON _bbops_jobs (priority, id) WHERE state = 'ready';
DROP INDEX IF EXISTS _bbops_jobs_oldest;
CREATE INDEX IF NOT EXISTS _bbops_jobs_by_age ON _bbops_jobs (id)
  WHERE state = 'ready' AND priority < 3;
CREATE INDEX IF NOT EXISTS _bbops_jobs_later ON _bbops_jobs (run_at) WHERE state = 'later';
CREATE INDEX IF NOT EXISTS _bbops_jobs_blocked ON _bbops_jobs (lane, id) WHERE state = 'blocked';
CREATE INDEX IF NOT EXISTS _bbops_jobs_lane ON _bbops_jobs (lane)
  WHERE lane IS NOT NULL AND state <> 'dead';
CREATE INDEX IF NOT EXISTS _bbops_jobs_running ON _bbops_jobs (owner) WHERE state = 'running';
CREATE TABLE IF NOT EXISTS _bbops_steps (job {number} NOT NULL, path {text} NOT NULL,
  result {data}, PRIMARY KEY (job, path)){ends};
CREATE TABLE IF NOT EXISTS _bbops_ticks (task {text} PRIMARY KEY, next_at {number} NOT NULL,
  schedule {text} NOT NULL DEFAULT ''){ends};
CREATE INDEX IF NOT EXISTS _bbops_ticks_next ON _bbops_ticks (next_at);
CREATE INDEX IF NOT EXISTS _bbops_events_name ON _bbops_events (name, seq);
CREATE TABLE IF NOT EXISTS _bbops_awaited (job {number} NOT NULL, path {text} NOT NULL,
  event {text} NOT NULL, value {text} NOT NULL, since {number} NOT NULL, until {number} NOT NULL,
  PRIMARY KEY (job, path, event)){ends};
CREATE INDEX IF NOT EXISTS _bbops_awaited_event ON _bbops_awaited (event, value);
CREATE TABLE IF NOT EXISTS _bbops_unique (key {text} PRIMARY KEY, until {number} NOT NULL){ends};
CREATE TABLE IF NOT EXISTS _bbops_job_log (id {number} NOT NULL PRIMARY KEY, uid {text} NOT NULL,
  work {text} NOT NULL, payload {text} NOT NULL, outcome {text} NOT NULL,
  attempts {number} NOT NULL, error {text} NOT NULL, seq {number} NOT NULL, cause {text} NOT NULL,
  depth {number} NOT NULL, created_at {number} NOT NULL, ended_at {number} NOT NULL){ends};
CREATE INDEX IF NOT EXISTS _bbops_job_log_ended ON _bbops_job_log (ended_at)
"""


@dataclass(frozen=True, slots=True)
class Types:
    """A database's types. `ends` is the text after a table, `queue` the text after a busy one."""

    id: str
    number: str
    text: str
    data: str
    flag: str
    ends: str = ""
    queue: str = ""


def work_tables(types: Types) -> tuple[str, ...]:
    """Return the statements that create the missing tables."""
    found = f"{_TABLES};{AGENT_TABLES}".format(
        id=types.id, number=types.number, text=types.text, data=types.data, flag=types.flag,
        ends=types.ends, queue=types.queue,
    )  # fmt: skip
    return tuple(part.strip() for part in found.split(";"))


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
