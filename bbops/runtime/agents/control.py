"""Reads of runs and chats, and decisions about calls: for chats, the command line and pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from bbops.base.host import Database
from bbops.base.json_work import AgentCall, AgentRun
from bbops.runtime.agents.tables import SWEEP
from bbops.runtime.agents.values import DECISION
from bbops.runtime.work.statements import EMIT
from bbops.runtime.work.values import format_time

MOST_MESSAGES: Final = 200
"""The most messages of a chat that its user reads."""
MILLION: Final = 1_000_000
"""The database has money in millionths."""
_decode = msgspec.json.Decoder().decode

_STATE: Final = (
    "CASE WHEN r.state IN ('done', 'failed') THEN r.state"
    " WHEN j.state IN ('dead', 'held') THEN CASE j.state WHEN 'dead' THEN 'failed' ELSE 'held' END"
    " WHEN j.uid IS NULL AND NOT EXISTS (SELECT 1 FROM _bbops_outbox AS o WHERE o.name = ''"
    " AND o.key = r.uid) THEN 'failed' ELSE r.state END"
)
"""The state of run `r`: a job that is dead or gone ends it, whatever the run could still write."""
_ERROR: Final = (
    "CASE WHEN r.error <> '' THEN r.error WHEN r.state = 'done' THEN ''"
    " WHEN j.uid IS NULL AND r.state <> 'queued' THEN 'its job was cancelled or has ended'"
    " ELSE coalesce(j.error, '') END"
)
_RUN: Final = (
    f"SELECT r.uid, r.agent, r.start, r.chat, r.owner, {_STATE}, {_ERROR}, r.tokens_in,"
    " r.tokens_out, r.micro_money, r.began_at, r.ended_at, r.answer FROM _bbops_runs AS r"
    " LEFT JOIN _bbops_jobs AS j ON j.uid = r.uid"
)
_BUSY_CHAT: Final = (
    "SELECT 1 FROM _bbops_runs AS r LEFT JOIN _bbops_jobs AS j ON j.uid = r.uid WHERE r.chat = ?"
    f" AND {_STATE} NOT IN ('done', 'failed') LIMIT 1"
)
_APPROVAL: Final = (
    "SELECT id, run, agent, chat, owner, tool, arguments, state, decided_by, asked_at, decided_at,"
    " expires_at FROM _bbops_approvals"
)
_IS_UNDER_WAY: Final = (
    " EXISTS (SELECT 1 FROM _bbops_jobs AS j WHERE j.uid = _bbops_approvals.run"
    " AND j.state <> 'dead')"
)
"""Whether the job of a call's run can still do the call."""
_DECIDE: Final = (
    "UPDATE _bbops_approvals SET state = ?, decided_by = ?, decided_at = ?"
    f" WHERE id = ? AND state = 'waiting' AND expires_at > ? AND{_IS_UNDER_WAY} RETURNING id"
)
_USAGE: Final = (
    f"SELECT r.agent, count(*), count(CASE WHEN {_STATE} = 'failed' THEN 1 END),"
    " sum(r.tokens_in), sum(r.tokens_out), sum(r.micro_money) FROM _bbops_runs AS r"
    " LEFT JOIN _bbops_jobs AS j ON j.uid = r.uid"
    " WHERE r.began_at >= ? GROUP BY r.agent ORDER BY r.agent"
)
_MESSAGES: Final = (
    "SELECT s.kind, s.content, s.at FROM _bbops_run_steps AS s JOIN _bbops_runs AS r"
    " ON r.uid = s.run WHERE r.chat = ? AND s.kind IN ('message', 'model')"
    " ORDER BY r.began_at DESC, r.uid DESC, s.number DESC LIMIT ?"
)


@dataclass(frozen=True, slots=True)
class RunDetails:
    """A run with its answer, its steps, and the calls that wait for a person.

    Attributes:
        steps: number, kind, name, content, tokens_in, tokens_out, ms and at of each.
        waiting: id, tool, arguments and expiresAt of each call.
    """

    run: AgentRun
    answer: Any
    steps: Sequence[dict[str, Any]]
    waiting: Sequence[dict[str, Any]]


class AgentControl:
    """The runs, chats and approvals of a project. Each method is one or two reads."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def runs(self, limit: int, agent: str = "") -> list[AgentRun]:
        """Return runs, newest first."""
        where = "WHERE r.agent = ?" if agent else ""
        sql = f"{_RUN} {where} ORDER BY r.began_at DESC, r.uid DESC LIMIT ?"
        rows = await self._database.read(sql, (*([agent] if agent else ()), limit))
        return [_read_run(row) for row in rows]

    async def show(self, uid: str, *, after: int = -1) -> RunDetails | None:
        """Return a run with its steps after a number; None if it does not exist."""
        rows = await self._database.read(f"{_RUN} WHERE r.uid = ?", (uid,))
        return await self._details(rows[0], after) if rows else None

    async def last_run(self, chat: str) -> RunDetails | None:
        """Return the last run of a chat; None without one."""
        sql = f"{_RUN} WHERE r.chat = ? ORDER BY r.began_at DESC, r.uid DESC LIMIT 1"
        rows = await self._database.read(sql, (chat,))
        return await self._details(rows[0]) if rows else None

    async def is_busy(self, chat: str) -> bool:
        """Return whether a turn of a chat has not ended, by its state and not by clocks."""
        return bool(await self._database.read(_BUSY_CHAT, (chat,)))

    async def _details(self, row: Sequence[Any], after: int = -1) -> RunDetails:
        uid = row[0]
        steps = await self._database.read(
            "SELECT number, kind, name, content, tokens_in, tokens_out, ms, at"
            " FROM _bbops_run_steps WHERE run = ? AND number > ? ORDER BY number", (uid, after),
        )  # fmt: skip
        waiting = await self._database.read(
            f"{_APPROVAL} WHERE run = ? AND state = 'waiting' ORDER BY asked_at, id", (uid,)
        )
        names = ("number", "kind", "name", "content", "tokens_in", "tokens_out", "ms", "at")
        found = [dict(zip(names, step, strict=True)) for step in steps]
        for step in found:
            step["content"] = _decode(step["content"])
        answer = None if row[12] is None else _decode(row[12])
        return RunDetails(_read_run(row), answer, found, [_write_waiting(call) for call in waiting])

    async def messages(self, chat: str) -> list[dict[str, Any]]:
        """Return role, text and time of the newest messages of a chat, oldest first."""
        rows = await self._database.read(_MESSAGES, (chat, MOST_MESSAGES))
        found = [
            {
                "role": "user" if kind == "message" else "agent",
                "text": _decode(content)["text"], "at": format_time(at),
            } for kind, content, at in reversed(rows)
        ]  # fmt: skip
        return [message for message in found if message["text"]]

    async def has_chat(self, chat: str, agents: Sequence[str], owner: str) -> bool:
        """Return whether a user has a chat with an agent, which may have had another name."""
        rows = await self._database.read(
            "SELECT agent FROM _bbops_chats WHERE id = ? AND owner = ?", (chat, owner)
        )
        return any(agent in agents for (agent,) in rows)

    async def approvals(self, limit: int, agent: str = "") -> list[AgentCall]:
        """Return the calls that wait for a person, oldest first."""
        also = "AND agent = ?" if agent else ""
        where = f"WHERE state = 'waiting' AND{_IS_UNDER_WAY} {also}"
        sql = f"{_APPROVAL} {where} ORDER BY asked_at, id LIMIT ?"
        rows = await self._database.read(sql, (*([agent] if agent else ()), limit))
        return [_read_call(row) for row in rows]

    async def approvals_of(self, run: str) -> list[AgentCall]:
        """Return the calls of a run that need or needed an approval, oldest first."""
        rows = await self._database.read(f"{_APPROVAL} WHERE run = ? ORDER BY asked_at, id", (run,))
        return [_read_call(row) for row in rows]

    async def usage(self, since: int) -> list[Sequence[Any]]:
        """Return agent, runs, failed runs, tokens in and out, and millionths of money.

        Args:
            since: the begin of the oldest run that counts, in milliseconds since 1970.
        """
        return list(await self._database.read(_USAGE, (since,)))

    async def find_approval(self, id: str) -> AgentCall | None:  # noqa: A002 - its name everywhere
        """Return a call that a person decides about; None if it does not exist."""
        rows = await self._database.read(f"{_APPROVAL} WHERE id = ?", (id,))
        return _read_call(rows[0]) if rows else None

    async def decide(self, id: str, *, is_approved: bool, by: str, at: int) -> bool:  # noqa: A002 - as above
        """Approve or reject a call; return False if it does not wait any longer.

        Args:
            id: the call.
            is_approved: whether it is done.
            by: the person.
            at: the time in milliseconds since 1970.
        """
        state = "approved" if is_approved else "rejected"
        payload = msgspec.json.encode({"id": id, "approved": is_approved}).decode()
        async with self._database.transaction() as inner:
            if not await inner.write(_DECIDE, (state, by, at, id, at)):
                return False
            await inner.write(EMIT, (DECISION, id, payload, at, "", 0))
        return True

    async def sweep(self, now: int, oldest: int) -> None:
        """Delete chats that are over, and runs that began before `oldest` outside of kept chats."""
        first, *others = SWEEP
        await self._database.write_all([(first, (now,)), *((sql, (oldest,)) for sql in others)])


def _read_run(row: Sequence[Any]) -> AgentRun:
    *fields, micro_money, began_at, ended_at = row[:12]
    fields += micro_money / MILLION, began_at / 1000, _seconds(ended_at)
    return AgentRun(*fields)


def _read_call(row: Sequence[Any]) -> AgentCall:
    *fields, arguments, state, decided_by, asked_at, decided_at, expires_at = row
    fields += _decode(arguments), state, decided_by
    fields += asked_at / 1000, _seconds(decided_at), expires_at / 1000
    return AgentCall(*fields)


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _write_waiting(row: Sequence[Any]) -> dict[str, Any]:
    """Return the fields of a waiting call that the chat's user sees."""
    return {
        "id": row[0], "tool": row[5], "arguments": _decode(row[6]),
        "expiresAt": format_time(row[11]),
    }  # fmt: skip
