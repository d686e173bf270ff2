"""Tests of agents: a turn of a chat or an event, and the scripted answers of models."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bbops.compiler.testing.client import Client
from bbops.compiler.testing.outcome import Answer
from bbops.compiler.testing.values import plain
from bbops.compiler.testing.working import Working, answer_of_failure
from bbops.language.project import Resource
from bbops.language.resources.agent import Agent
from bbops.language.resources.test import Case
from bbops.runtime.agents.control import AgentControl
from bbops.runtime.agents.values import STEPS, tool_name, work_name
from bbops.runtime.work.webhooks import AGENT_HOOK, message_event, webhook_event

CHAT: Final = "chat"
"""The chat of a case."""


async def ask_agent(
    client: Client, working: Working, agent: Resource[Agent], case: Case,
    given: Mapping[str, Any],
) -> Answer:  # fmt: skip
    """Run an agent; return `{answer}`, or how its run has failed.

    Args:
        client: the client of the release.
        working: the queue of the case.
        agent: the subject of the case.
        case: the case; `approve` decides about the calls that wait.
        given: the computed parts of the case.
    """
    start = start_of(agent.model, case)
    work = work_name(agent.name, start)
    working.approves = case.approve
    if start == "chat":
        auth = given["auth"]
        turn = {
            "chat": CHAT, "owner": "" if auth is None else str(auth["userId"]), "auth": auth,
            "message": given["input"]["message"],
        }  # fmt: skip
        await working.begin(work, json.dumps({"input": turn}, default=str))
    elif start == "schedule":
        await working.begin(work)
    else:
        name, payload = _event_of(agent, start, given["event"] or {})
        await working.happen(name, payload)
    await working.work_off(work, follows=case.work == "run")
    control = AgentControl(working.database.door)
    run = next((run for run in await control.runs(1, agent.name) if run.start == start), None)
    if run is not None and run.state == "done":  # a crash behind its last commit ends no attempt
        details = await control.show(run.name)
        return Answer(200, {}, {"answer": None if details is None else details.answer})
    last = next(
        (attempt for attempt in reversed(working.attempts) if attempt.job.work == work), None
    )
    if last is None:
        return Answer(204, {}, None)
    if last.error is not None:
        return answer_of_failure(client, last.error, work)
    return Answer(200, {}, {"answer": None})


def start_of(agent: Agent, case: Case) -> str:
    """Return the start that a case is about: a chat by its message, an event, else a schedule."""
    starts = agent.runs_on.starts
    if case.input is not None and "chat" in starts:
        return "chat"
    if case.event is not None:
        return next((key for key in ("event", "webhook", "realtime") if key in starts), "event")
    return "schedule"


def _event_of(agent: Resource[Agent], start: str, given: Mapping[str, Any]) -> tuple[str, str]:
    runs_on, payload = agent.model.runs_on, json.dumps(plain(given.get("payload")))
    name = str(given.get("name") or "")
    if start == "webhook":
        return webhook_event(f"{AGENT_HOOK}{agent.name}"), payload
    if start == "realtime" and runs_on.realtime is not None:
        event = name or runs_on.realtime.event or ""
        return message_event(runs_on.realtime.topic, event), payload
    return name or (runs_on.event.event[0] if runs_on.event else ""), payload


# ---- Answers of models as cases of tests write them, in the shapes of their addons


def scripted_answer(
    step: str, replies: Sequence[Any], parameters: Mapping[str, Any]
) -> Any | None:  # fmt: skip
    """Return the result of the step that asks a model, as a case writes it; None at its end.

    Args:
        step: one of STEPS.
        replies: each `{say}`, `{tool, args}`, or a list of calls.
        parameters: the parameters; the reply is chosen by the number of the model's messages.
    """
    number = count_answers(parameters)
    if number >= len(replies):
        return None
    reply = replies[number]
    parts = reply if isinstance(reply, list) else [reply]
    calls = [part for part in parts if "tool" in part]
    text = "".join(str(part["say"]) for part in parts if "say" in part)
    write = _completion if step == STEPS["aiModel"] else _message
    return write(number, text, calls)


def count_answers(parameters: Mapping[str, Any]) -> int:
    """Return the number of the model's messages in the parameters of its step."""
    return sum(message.get("role") == "assistant" for message in parameters["messages"])


def _completion(number: int, text: str, calls: Sequence[Mapping[str, Any]]) -> Any:
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"call_{number}_{at}", "type": "function",
                "function": {
                    "name": tool_name(call["tool"]),
                    "arguments": json.dumps(call.get("args") or {}),
                },
            } for at, call in enumerate(calls)
        ]  # fmt: skip
    reason = "tool_calls" if calls else "stop"
    return {
        "id": f"test-{number}", "model": "test", "created": 0,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    }  # fmt: skip


def _message(number: int, text: str, calls: Sequence[Mapping[str, Any]]) -> Any:
    content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    content += [
        {
            "type": "tool_use", "id": f"call_{number}_{at}", "name": tool_name(call["tool"]),
            "input": call.get("args") or {},
        } for at, call in enumerate(calls)
    ]  # fmt: skip
    return {
        "id": f"test-{number}", "type": "message", "role": "assistant", "content": content,
        "model": "test", "stop_reason": "tool_use" if calls else "end_turn",
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }  # fmt: skip
