"""Run what a test of an agent is about: a turn of a chat, or what an event starts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from bbops.compiler.testing.client import Client
from bbops.compiler.testing.comparing import plain
from bbops.compiler.testing.jobs import answer_of_failure
from bbops.compiler.testing.outcome import Answer
from bbops.compiler.testing.working import Working
from bbops.language.project import Resource
from bbops.language.resources.agent import Agent
from bbops.language.resources.test import Case
from bbops.runtime.agents.control import AgentControl
from bbops.runtime.agents.values import work_name
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
        details = await control.show(run.uid)
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
