"""Chats over HTTP: `POST /~agents/<name>`, decisions about calls, and the messages of a chat.

A message enqueues a turn, and its request waits for the end of the turn, or for a call that a
person has to approve. The end of a turn is read from the tables, so any server can answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

from bbops.base.doors import StreamEvent
from bbops.base.json_work import AgentRun
from bbops.runtime.agents.control import AgentControl, RunDetails
from bbops.runtime.agents.tables import INSERT_CHAT, RunRow
from bbops.runtime.agents.values import AGENT_LIMIT, work_name
from bbops.runtime.flow.masking import Mask
from bbops.runtime.flow.run import Answer, Run, SentStream
from bbops.runtime.values.failures import Conflict, Thrown
from bbops.runtime.values.shapes import compile_shape

MOST_CHARACTERS: Final = 50_000
"""The longest message."""

_PAUSES: Final = (0.02, 0.05, 0.1, 0.15)
"""The first pauses between two looks at a run, in seconds; then the last one."""
_ATTEMPTS: Final = 10
"""The most attempts to enqueue a turn: on PostgreSQL, messages of other chats may conflict."""
_EVENTS: Final = "text/event-stream"


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """An agent that people can talk to.

    Attributes:
        names: its name, and the name that it had before.
        keeps_ms: the time for which a chat is kept after its last message.
        timeout_seconds: the longest turn.
    """

    agent: str
    names: Sequence[str]
    keeps_ms: int
    timeout_seconds: float
    mask: Mask


class ChatFunctions:
    """The functions of the routes of one agent."""

    def __init__(self, settings: ChatSettings) -> None:
        self._settings = settings

    @staticmethod
    def message_shape() -> Any:
        """Return the shape of a message."""
        return compile_shape({
            "chat": {"type": "string", "optional": True, "nullable": True, "maxLength": 100},
            "message": {"type": "string", "minLength": 1, "maxLength": MOST_CHARACTERS},
        })  # fmt: skip

    @staticmethod
    def decision_shape() -> Any:
        """Return the shape of a decision."""
        return compile_shape({"approve": {"type": "boolean"}})

    async def speak(self, run: Run) -> Answer:
        """Take a message; answer once its turn has ended, or waits for a person.

        Raises:
            Thrown: 404, the user has no such chat; 409, its turn before is under way; 503, no jobs
                run here.
        """
        host, agent = run.host, self._settings.agent
        if host.events is None:
            raise Thrown(503, "no agents run here")
        owner, control = owner_of(run), AgentControl(host.database)
        chat = run.input.get("chat")
        if chat is not None and not await control.has_chat(chat, self._settings.names, owner):
            raise Thrown(404, "there is no such chat")
        uid = f"{work_name(agent, 'chat')}@{host.random.uuid()}"
        row = RunRow(uid, agent, "chat", chat or host.random.uuid(), owner)
        for left in reversed(range(_ATTEMPTS)):
            try:
                await self._begin(run, row, is_new=chat is None)
                break
            except Conflict:  # another message came between
                if not left:
                    raise
        await host.events.committed()
        return await self._answer(run, control, row.uid)

    async def _begin(self, run: Run, row: RunRow, *, is_new: bool) -> None:
        """Enqueue a turn. The row of the chat is locked first, so a chat has one turn at a time.

        Raises:
            Thrown: 409, the chat's turn before is under way.
            Conflict: another message came between; nothing is enqueued.
        """
        host, work = run.host, work_name(row.agent, "chat")
        assert host.events is not None  # noqa: S101 - the caller has looked
        now = round(1000 * host.clock.now().timestamp())
        until = now + self._settings.keeps_ms
        given = {
            "chat": row.chat, "owner": row.owner, "message": run.input["message"],
            "auth": run.auth,
        }  # fmt: skip
        async with host.database.transaction() as inner:
            values = row.chat, row.agent, row.owner, now, now, until
            await inner.write_all([(INSERT_CHAT, values)])
            if not is_new and await AgentControl(inner).is_busy(row.chat):
                raise _busy()
            await inner.write_all([row.insert("queued", now)])
            await host.events.within(inner).enqueue(work, row.uid, {"input": given})

    async def decide(self, run: Run) -> Answer:
        """Approve or reject a call of the user's chat, and answer as `speak` does.

        Raises:
            Thrown: 404, no such call waits in a chat of the user.
        """
        owner, control = owner_of(run), AgentControl(run.host.database)
        approval = await control.find_approval(run.params["approval"])
        names = self._settings.names
        if approval is None or approval.agent not in names or approval.owner != owner:
            raise Thrown(404, "there is no such call")
        before = await control.show(approval.run)
        is_new = await control.decide(
            approval.id, is_approved=run.input["approve"], by=owner or "a visitor",
            at=round(1000 * run.host.clock.now().timestamp()),
        )  # fmt: skip
        if not is_new:
            raise Thrown(409, "somebody has decided about this call, or its time is over")
        if run.host.events is not None:
            await run.host.events.committed()
        seen = len(before.steps) - 1 if before is not None else -1
        return await self._answer(run, control, approval.run, after=approval.id, seen=seen)

    async def show(self, run: Run) -> Answer:
        """Return the messages of a chat, and how far its last turn is.

        Raises:
            Thrown: 404, the user has no such chat.
        """
        control = AgentControl(run.host.database)
        chat = run.params["chat"]
        if not await control.has_chat(chat, self._settings.names, owner_of(run)):
            raise Thrown(404, "there is no such chat")
        details = await control.last_run(chat)
        value = {
            "chat": chat, "state": details.run.state if details else "done",
            "messages": await control.messages(chat),
            "approvals": [] if details is None else details.waiting,
        }  # fmt: skip
        return 200, value, {"cache-control": "no-store"}, None

    # ---- waiting for a turn
    async def _answer(
        self, run: Run, control: AgentControl, uid: str, after: str = "", seen: int = -1
    ) -> Answer:  # fmt: skip
        stream = TurnEvents(control, uid, after, seen)
        if _EVENTS in run.headers.get("accept", ""):
            line = f"agents/{self._settings.agent}.yaml:1"
            sent = SentStream(stream, lambda result: result, line)
            if run.trace is not None:
                run.trace.streams = (*run.trace.streams, sent)
            return 200, sent, None, None
        began = perf_counter()
        while await stream.read() is not None:
            if perf_counter() - began > self._settings.timeout_seconds:
                break
        value = stream.result()
        return (200 if value["answer"] is not None else 202), value, None, None


class TurnEvents:
    """The events of a turn as they come: `chat`, `text`, `tool`, `approval`; see `Pieces`."""

    def __init__(
        self, control: AgentControl, uid: str, after: str = "", seen: int = -1
    ) -> None:  # fmt: skip
        """Create the events of a turn.

        Args:
            control: the reads of runs.
            uid: the run.
            after: a call that a person has just decided about.
            seen: the number of the last step that the client knows.
        """
        self._control, self._uid, self._after = control, uid, after
        self._seen, self._looks = seen, 0
        self._details: RunDetails | None = None
        self._is_over = False

    async def read(self) -> Sequence[StreamEvent] | None:
        """Return new events; None once the turn has ended, or waits for a person.

        Raises:
            Thrown: 500, the turn has failed.
        """
        if self._is_over:
            return None
        await asyncio.sleep(_PAUSES[min(self._looks, len(_PAUSES) - 1)])
        self._looks += 1
        details = self._details = await self._control.show(self._uid, after=self._seen)
        if details is None:
            raise Thrown(500, "the turn is gone")
        found = [*map(_event_of, details.steps)]
        if self._looks == 1 and not self._after:
            found.insert(0, StreamEvent("chat", {"chat": details.run.chat}))
        self._seen = max([self._seen, *(step["number"] for step in details.steps)])
        if details.run.state in {"failed", "held"}:
            raise _failure(details.run)
        waiting = [call for call in details.waiting if call["id"] != self._after]
        if details.run.state == "done" or waiting:
            self._is_over = True
            found += [StreamEvent("approval", call) for call in waiting]
        return [event for event in found if event is not None]

    def result(self) -> Mapping[str, Any]:
        """Return `{chat, answer, approvals}`; while the turn is under way, `answer` is null."""
        details = self._details
        if details is None:
            return {"chat": None, "answer": None, "approvals": []}
        return {
            "chat": details.run.chat, "answer": details.answer, "approvals": details.waiting,
        }  # fmt: skip

    async def close(self) -> None:
        """End nothing: the turn goes on without its listener."""


def _event_of(step: Mapping[str, Any]) -> StreamEvent | None:
    content = step["content"]
    if step["kind"] == "model" and content["text"]:
        return StreamEvent("text", {"text": content["text"]})
    if step["kind"] == "tool":
        return StreamEvent("tool", {"tool": step["name"], "isError": content["isError"]})
    return None


def _failure(run: AgentRun) -> Thrown:
    """Return the error of a turn that has ended without an answer, as its user may see it."""
    if run.state == "held":
        message = (
            "the agent's job is held until a member runs or releases it ('bbops jobs'); in a draft,"
            " 'bbops drafts work BRANCH' lets jobs run"
        )
        return Thrown(503, message, code="held")
    if run.error.endswith(f"[{AGENT_LIMIT}]"):
        return Thrown(429, "the agent has reached one of its limits", code=AGENT_LIMIT)
    return Thrown(502, "the agent cannot answer now", code="agentFailed")


def _busy() -> Thrown:
    return Thrown(409, "the turn before is under way", code="chatBusy")


def owner_of(run: Run) -> str:
    """Return the user of a chat as it is stored: empty for a visitor."""
    return "" if run.auth is None else str(run.auth["userId"])
