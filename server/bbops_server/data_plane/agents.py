"""Runs of a project's agents, for the parent: its live release has the database open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from bbops.base.json_work import (
    AgentCall,
    AgentRun,
    AgentRunStory,
    AgentStep,
    AgentUsage,
    DecidedCall,
)
from bbops.runtime.agents.control import AgentControl, CallApproval, RunSummary
from bbops.runtime.agents.tables import write_json
from bbops.runtime.work.engine import now_ms
from bbops_server.data_plane.jobs import answers_about, database_of
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
from bbops_server.process.messages.service import Handlers

AgentRequest: TypeAlias = (
    ListAgentRuns | ShowAgentRun | CountAgentRuns | ListAgentCalls | DecideAgentCall
)
_MILLION: Final = 1_000_000


def agent_handlers(find: Callable[[AgentRequest], Live], ring: Callable[[], None]) -> Handlers:
    """Return the handlers of requests about agents.

    Args:
        find: returns the live release of the request's project.
        ring: wakes the work process.
    """
    about = answers_about(find, ring)
    return {
        ListAgentRuns: about(_list), ShowAgentRun: about(_show), CountAgentRuns: about(_count),
        ListAgentCalls: about(_calls), DecideAgentCall: about(_decide),
    }  # fmt: skip


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
        AgentRunStory(_run(live, found.run), _masked(live, found.answer), steps, calls)
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
    return AgentUsage(agent, runs, failed, tokens_in, tokens_out, micro_money / _MILLION)


def _run(live: Live, run: RunSummary) -> AgentRun:
    return AgentRun(
        run.uid, run.agent, run.start, run.chat, run.owner, run.state, _masked(live, run.error),
        run.tokens_in, run.tokens_out, run.micro_money / _MILLION, run.began_at / 1000,
        None if run.ended_at is None else run.ended_at / 1000,
    )  # fmt: skip


def _call(live: Live, call: CallApproval) -> AgentCall:
    return AgentCall(
        call.id, call.run, call.agent, call.chat, call.owner, call.tool,
        _arguments(live, call), call.state, call.decided_by, call.asked_at / 1000,
        None if call.decided_at is None else call.decided_at / 1000, call.expires_at / 1000,
    )  # fmt: skip


def _step(live: Live, step: Mapping[str, Any]) -> AgentStep:
    """Return a step of a run; its content depends on its kind, see `StepRow`."""
    content = step["content"]
    text = content.get("result" if step["kind"] == "tool" else "text", "")
    calls = content.get("calls", ())
    return AgentStep(
        step["number"], step["kind"], step["at"] / 1000, step["ms"], step["tokens_in"],
        step["tokens_out"], _masked(live, text if isinstance(text, str) else write_json(text)),
        step["name"], [
            {"tool": call.get("tool"), "arguments": _masked(live, call.get("arguments"))}
            for call in calls if isinstance(call, dict)
        ],
        _masked(live, content.get("arguments")), bool(content.get("isError")),
    )  # fmt: skip


def _arguments(live: Live, call: CallApproval) -> Any:
    """Return the arguments of a call: as they are while a person decides, masked afterwards."""
    if call.state == "waiting" and live.release:
        return live.release.answering.mask.answer(call.arguments)
    return _masked(live, call.arguments)


def _masked(live: Live, value: Any) -> Any:
    """Return a value without secrets and private columns: they may be newer than the record."""
    return live.release.answering.mask.value(value) if live.release else value


def _control(live: Live) -> AgentControl:
    return AgentControl(database_of(live))
