"""The tables of work outside of requests, for both databases.

Frequent queries of the engine have small indexes of their own: a claim costs the same beside a
million sleeping jobs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bbops.database.schema.agent_tables import AGENT_TABLES


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


def work_tables(types: Types) -> tuple[str, ...]:
    """Return the statements that create the missing tables."""
    found = f"{_TABLES};{AGENT_TABLES}".format(
        id=types.id, number=types.number, text=types.text, data=types.data, flag=types.flag,
        ends=types.ends, queue=types.queue,
    )  # fmt: skip
    return tuple(part.strip() for part in found.split(";"))
