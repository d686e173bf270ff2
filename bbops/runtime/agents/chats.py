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

from bbops.base.streaming import StreamEvent
from bbops.runtime.agents.control import AgentControl, RunDetails, RunSummary
from bbops.runtime.agents.tables import INSERT_CHAT, RunRow
from bbops.runtime.agents.values import AGENT_LIMIT, RunState, work_name
from bbops.runtime.flow.masking import Mask
from bbops.runtime.flow.run import Answer, Run
from bbops.runtime.flow.streamed import SentStream
from bbops.runtime.values.failures import Thrown
from bbops.runtime.values.shapes import compile_shape

MOST_CHARACTERS: Final = 50_000
"""The longest message."""

_PAUSES: Final = (0.02, 0.05, 0.1, 0.15)
"""The first pauses between two looks at a run, in seconds; then the last one."""
_EVENTS: Final = "text/event-stream"
_UNDER_WAY: Final[frozenset[RunState]] = frozenset({"queued", "running", "waiting"})


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """An agent that people can talk to.

    Attributes:
        keeps_ms: the time for which a chat is kept after its last message.
        timeout_seconds: the longest turn.
    """

    agent: str
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
        owner, now = owner_of(run), round(1000 * host.clock.now().timestamp())
        control = AgentControl(host.database)
        chat = await self._chat_of(control, run.input.get("chat"), owner) or host.random.uuid()
        row = RunRow(f"{work_name(agent, 'chat')}@{host.random.uuid()}", agent, "chat", chat, owner)
        given = {
            "chat": chat, "owner": owner, "message": run.input["message"], "auth": run.auth,
        }  # fmt: skip
        until = now + self._settings.keeps_ms
        async with host.database.transaction() as inner:
            await inner.write_all([
                (INSERT_CHAT, (chat, agent, owner, now, now, until)), row.insert("queued", now)
            ])  # fmt: skip
            events = host.events.within(inner)
            await events.enqueue(work_name(agent, "chat"), row.uid, {"input": given})
        await host.events.committed()
        return await self._answer(run, control, row.uid)

    async def decide(self, run: Run) -> Answer:
        """Approve or reject a call of the user's chat, and answer as `speak` does.

        Raises:
            Thrown: 404, no such call waits in a chat of the user.
        """
        owner, control = owner_of(run), AgentControl(run.host.database)
        approval = await control.find_approval(run.params["approval"])
        if approval is None or (approval.agent, approval.owner) != (self._settings.agent, owner):
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
        if not await control.has_chat(chat, self._settings.agent, owner_of(run)):
            raise Thrown(404, "there is no such chat")
        details = await control.last_run(chat)
        value = {
            "chat": chat, "state": details.run.state if details else "done",
            "messages": await control.messages(chat),
            "approvals": [] if details is None else details.waiting,
        }  # fmt: skip
        return 200, value, {"cache-control": "no-store"}, None

    async def _chat_of(self, control: AgentControl, chat: str | None, owner: str) -> str | None:
        if chat is None:
            return None
        if not await control.has_chat(chat, self._settings.agent, owner):
            raise Thrown(404, "there is no such chat")
        last = await control.last_run(chat)
        if last is not None and last.run.state in _UNDER_WAY:
            raise Thrown(409, "the turn before is under way", code="chatBusy")
        return chat

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
    """The events of a turn as they come: `text`, `tool`, `approval`; see `Pieces`."""

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
        details = self._details = await self._control.show(self._uid)
        if details is None:
            raise Thrown(500, "the turn is gone")
        found = [*map(_event_of, details.steps_after(self._seen))]
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


def _failure(run: RunSummary) -> Thrown:
    """Return the error of a turn that has ended without an answer, as its user may see it."""
    if run.state == "held":
        message = (
            "agents do not run by themselves here: the turn is held until its job is run, or the"
            " draft works for a time ('bbops drafts work BRANCH')"
        )
        return Thrown(503, message, code="held")
    if run.error.endswith(f"[{AGENT_LIMIT}]"):
        return Thrown(429, "the agent has reached one of its limits", code=AGENT_LIMIT)
    return Thrown(502, "the agent cannot answer now", code="agentFailed")


def owner_of(run: Run) -> str:
    """Return the user of a chat as it is stored: empty for a visitor."""
    return "" if run.auth is None else str(run.auth["userId"])
