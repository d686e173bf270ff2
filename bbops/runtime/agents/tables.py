"""Statements of the tables of agents: `_bbops_chats`, `_bbops_runs`, their steps and approvals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from bbops.runtime.work.statements import BoundStatement

_encode = msgspec.json.Encoder(decimal_format="number").encode

INSERT_RUN: Final = (
    "INSERT INTO _bbops_runs (uid, agent, start, chat, owner, state, answer, error, tokens_in,"
    " tokens_out, micro_money, began_at, ended_at)"
    " VALUES (?, ?, ?, ?, ?, ?, NULL, '', 0, 0, 0, ?, NULL)"
    " ON CONFLICT (uid) DO UPDATE SET state = excluded.state"
)
_INSERT_STEP: Final = (
    "INSERT INTO _bbops_run_steps (run, number, kind, name, content, tokens_in, tokens_out, ms, at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_INSERT_APPROVAL: Final = (
    "INSERT INTO _bbops_approvals (id, run, agent, chat, owner, tool, arguments, state, decided_by,"
    " asked_at, decided_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, 'waiting', '', ?, NULL, ?)"
)
INSERT_CHAT: Final = (
    "INSERT INTO _bbops_chats (id, agent, owner, began_at, spoke_at, keep_until)"
    " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET agent = excluded.agent,"
    " spoke_at = excluded.spoke_at, keep_until = excluded.keep_until"
)
MEMORY: Final = (
    "SELECT s.run, s.kind, s.name, s.content FROM _bbops_run_steps AS s JOIN _bbops_runs AS r"
    " ON r.uid = s.run WHERE r.chat = ? AND r.state = 'done' AND r.uid <> ?"
    " ORDER BY r.began_at DESC, r.uid DESC, s.number DESC LIMIT ?"
)
"""Query of the steps of a chat's earlier runs, newest first. Parameters: chat, the run's uid, the
most steps: each is a message, so one more than what is remembered shows that a turn is not whole.
"""

BUSY: Final = (
    "SELECT count(*) FROM _bbops_jobs AS j WHERE j.state = 'running' AND j.work LIKE ?"
    " AND j.id < (SELECT me.id FROM _bbops_jobs AS me WHERE me.uid = ?)"
)
"""Query of the number of older runs of an agent. Parameters: `agents/<name>/%`, the run's uid."""


HAS_FAILED: Final = "SELECT 1 FROM _bbops_runs WHERE uid = ? AND state = 'failed'"
"""Query of a run that has failed: its job has been retried by a person. Parameter: its uid."""


def write_json(value: Any) -> str:
    """Return a value as JSON."""
    return _encode(value).decode()


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run as it begins.

    Attributes:
        uid: the uid of its job.
        chat: empty outside of chats, and so is `owner`, the chat's user.
    """

    uid: str
    agent: str
    start: str
    chat: str = ""
    owner: str = ""

    def insert(self, state: str, at: int) -> BoundStatement:
        """Return the statement that inserts the run, or sets its state."""
        values = self.uid, self.agent, self.start, self.chat, self.owner, state, at
        return INSERT_RUN, values

    def state(self, state: str) -> BoundStatement:
        """Return the statement that sets the state."""
        return "UPDATE _bbops_runs SET state = ? WHERE uid = ?", (state, self.uid)

    def resume(self) -> BoundStatement:
        """Return the statement that removes the error of a run that is tried again."""
        sql = "UPDATE _bbops_runs SET state = 'running', error = '', ended_at = NULL WHERE uid = ?"
        return sql, (self.uid,)

    def use(self, tokens_in: int, tokens_out: int, micro_money: int) -> BoundStatement:
        """Return the statement that sets what the run has used so far."""
        sql = "UPDATE _bbops_runs SET tokens_in = ?, tokens_out = ?, micro_money = ? WHERE uid = ?"
        return sql, (tokens_in, tokens_out, micro_money, self.uid)

    def end(self, answer: Any, at: int) -> BoundStatement:
        """Return the statement that ends the run with its answer."""
        sql = "UPDATE _bbops_runs SET state = 'done', answer = ?, ended_at = ? WHERE uid = ?"
        return sql, (write_json(answer), at, self.uid)

    def fail(self, error: str, at: int) -> BoundStatement:
        """Return the statement that ends the run with an error."""
        sql = "UPDATE _bbops_runs SET state = 'failed', error = ?, ended_at = ? WHERE uid = ?"
        return sql, (error, at, self.uid)


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step of a run: `message`, `model` or `tool`.

    Attributes:
        number: counts from 0 in each run.
        name: the tool; empty for others.
        content: JSON, masked.
    """

    number: int
    kind: str
    name: str
    content: Any
    at: int
    ms: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def insert(self, run: str) -> BoundStatement:
        """Return the statement that inserts the step."""
        return _INSERT_STEP, (
            run, self.number, self.kind, self.name, write_json(self.content), self.tokens_in,
            self.tokens_out, self.ms, self.at,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ApprovalRow:
    """A call that waits for a person.

    Attributes:
        arguments: masked.
        expires_at: the time of its rejection, in milliseconds since 1970.
    """

    id: str
    tool: str
    arguments: Any
    asked_at: int
    expires_at: int

    def insert(self, run: RunRow) -> BoundStatement:
        """Return the statement that inserts the call."""
        return _INSERT_APPROVAL, (
            self.id, run.uid, run.agent, run.chat, run.owner, self.tool,
            write_json(self.arguments), self.asked_at, self.expires_at,
        )  # fmt: skip

    def expire(self) -> BoundStatement:
        """Return the statement that marks the call as rejected by time."""
        sql = "UPDATE _bbops_approvals SET state = 'expired' WHERE id = ? AND state = 'waiting'"
        return sql, (self.id,)


SWEEP: Final[Sequence[str]] = (
    "DELETE FROM _bbops_chats WHERE keep_until < ?",
    (
        "DELETE FROM _bbops_runs WHERE began_at < ? AND NOT EXISTS (SELECT 1 FROM _bbops_jobs AS j"
        " WHERE j.uid = _bbops_runs.uid AND j.state <> 'dead') AND (chat = '' OR NOT EXISTS"
        " (SELECT 1 FROM _bbops_chats AS c WHERE c.id = _bbops_runs.chat))"
    ),
    (
        "DELETE FROM _bbops_run_steps WHERE at < ? AND NOT EXISTS"
        " (SELECT 1 FROM _bbops_runs AS r WHERE r.uid = _bbops_run_steps.run)"
    ),
    (
        "DELETE FROM _bbops_approvals WHERE asked_at < ? AND NOT EXISTS"
        " (SELECT 1 FROM _bbops_runs AS r WHERE r.uid = _bbops_approvals.run)"
    ),
)
"""Statements that delete what is not kept any longer; each has one time as its parameter: now for
the first, a day before the longest age of runs for the others."""
