"""The tables of agents: runs, their steps, calls that wait for approval, and chats."""

from __future__ import annotations

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
