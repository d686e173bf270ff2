"""Runs of a project's agents, for the parent: its live release has the database open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from bbops.base.json_work import (
    AgentCall,
    AgentRun,
    AgentRunStory,
    AgentStep,
    AgentUsage,
    DecidedCall,
)
from bbops.runtime.agents.control import MILLION, AgentControl
from bbops.runtime.agents.tables import write_json
from bbops.runtime.work.engine import now_ms
from bbops_server.data_plane.jobs import Answers, database_of, masked
from bbops_server.data_plane.live.swap import Live
from bbops_server.process.messages.agents import (
    CountAgentRuns,
    CountAgentRunsAnswer,
    DecideAgentCall,
    DecideAgentCallAnswer,
    ListAgentCalls,
    ListAgentCallsAnswer,
    ListAgentRuns,
    ListAgentRunsAnswer,
    ShowAgentRun,
    ShowAgentRunAnswer,
)


async def _list(live: Live, request: ListAgentRuns) -> ListAgentRunsAnswer:
    found = await _control(live).runs(request.most, request.agent)
    return ListAgentRunsAnswer([_run(live, run) for run in found])


async def _show(live: Live, request: ShowAgentRun) -> ShowAgentRunAnswer:
    control = _control(live)
    found = await control.show(request.run)
    if found is None:
        return ShowAgentRunAnswer(None)
    calls = [_call(live, call) for call in await control.approvals_of(request.run)]
    steps = [_step(live, step) for step in found.steps]
    return ShowAgentRunAnswer(
        AgentRunStory(_run(live, found.run), masked(live, found.answer), steps, calls)
    )


async def _count(live: Live, request: CountAgentRuns) -> CountAgentRunsAnswer:
    found = await _control(live).usage(now_ms() - round(1000 * request.seconds))
    return CountAgentRunsAnswer([_usage(agent, *map(int, sums)) for agent, *sums in found])


async def _calls(live: Live, request: ListAgentCalls) -> ListAgentCallsAnswer:
    found = await _control(live).approvals(request.most, request.agent)
    return ListAgentCallsAnswer([_call(live, call) for call in found])


async def _decide(live: Live, request: DecideAgentCall) -> DecideAgentCallAnswer:
    control = _control(live)
    is_changed = await control.decide(
        request.call, is_approved=request.is_approved, by=request.by, at=now_ms()
    )
    found = await control.find_approval(request.call)
    return DecideAgentCallAnswer(
        None if found is None else DecidedCall(is_changed, _call(live, found))
    )


def _usage(
    agent: str, runs: int, failed: int, tokens_in: int, tokens_out: int, micro_money: int
) -> AgentUsage:
    return AgentUsage(agent, runs, failed, tokens_in, tokens_out, micro_money / MILLION)


def _run(live: Live, run: AgentRun) -> AgentRun:
    return replace(run, error=masked(live, run.error))


def _call(live: Live, call: AgentCall) -> AgentCall:
    return replace(call, arguments=_arguments(live, call))


def _step(live: Live, step: Mapping[str, Any]) -> AgentStep:
    """Return a step of a run; its content depends on its kind, see `StepRow`."""
    content = step["content"]
    text = content.get("result" if step["kind"] == "tool" else "text", "")
    calls = content.get("calls", ())
    return AgentStep(
        step["number"], step["kind"], step["at"] / 1000, step["ms"], step["tokens_in"],
        step["tokens_out"], masked(live, text if isinstance(text, str) else write_json(text)),
        step["name"], [
            {"tool": call.get("tool"), "arguments": masked(live, call.get("arguments"))}
            for call in calls if isinstance(call, dict)
        ],
        masked(live, content.get("arguments")), bool(content.get("isError")),
    )  # fmt: skip


def _arguments(live: Live, call: AgentCall) -> Any:
    """Return the arguments of a call: as they are while a person decides, masked afterwards."""
    if call.state == "waiting" and live.release:
        return live.release.answering.mask.answer(call.arguments)
    return masked(live, call.arguments)


def _control(live: Live) -> AgentControl:
    return AgentControl(database_of(live))


AGENT_ANSWERS: Final[Answers] = {
    ListAgentRuns: _list, ShowAgentRun: _show, CountAgentRuns: _count, ListAgentCalls: _calls,
    DecideAgentCall: _decide,
}  # fmt: skip
