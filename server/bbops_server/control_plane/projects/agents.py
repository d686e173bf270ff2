"""Runs of agents of a project or draft, and calls that need an approval."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from litestar.params import Body, QueryParameter

from bbops.base.errors import ServerError
from bbops.base.json_work import AgentCall, AgentRun, AgentRunStory, AgentUsage, DecidedCall
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.visited_project import (
    Visited,
    VisitedProject,
    change_both,
    read_both,
)
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.process.messages.agents import (
    CountAgentRuns,
    DecideAgentCall,
    ListAgentCalls,
    ListAgentRuns,
    ShowAgentRun,
)

_MAX_NAME: Final = 400
_MAX_SECONDS: Final = 31 * 86_400
Agent = Annotated[str, QueryParameter(max_length=_MAX_NAME)]
Limit = Annotated[int, QueryParameter(ge=1, le=1_000)]
Run = Annotated[str, QueryParameter(min_length=1, max_length=_MAX_NAME)]
Seconds = Annotated[float, QueryParameter(gt=0, le=_MAX_SECONDS)]


class CallDecision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The id of a call, and whether it is approved or rejected."""

    call: Annotated[str, msgspec.Meta(min_length=1, max_length=_MAX_NAME)]
    approve: bool


@read_both("/agents/runs", Permission.READ_JOBS)
async def list_runs(project: Visited, agent: Agent = "", limit: Limit = 100) -> list[AgentRun]:
    """Runs of agents, newest first."""
    return (await project.ask(ListAgentRuns, agent, limit)).runs


@read_both("/agents/runs/story", Permission.READ_JOBS)
async def show_run(project: Visited, run: Run) -> AgentRunStory:
    """The steps of a run, its answer, and its calls that needed an approval."""
    return await find_run(project, run)


@read_both("/agents/usage", Permission.READ_JOBS)
async def list_usage(project: Visited, seconds: Seconds = 86_400) -> list[AgentUsage]:
    """The number of runs, tokens and money of each agent in the last seconds, by default a day."""
    return await find_usage(project, seconds)


@read_both("/agents/calls", Permission.READ_JOBS)
async def list_calls(project: Visited, agent: Agent = "", limit: Limit = 100) -> list[AgentCall]:
    """Calls that wait for an approval, oldest first."""
    return (await project.ask(ListAgentCalls, agent, limit)).calls


@change_both("/agents/calls/decide", Permission.DECIDE_CALLS, Permission.RUN_DRAFT_JOBS)
async def decide_call(project: Visited, data: Annotated[CallDecision, Body()]) -> DecidedCall:
    """Approve or reject a call; its run continues."""
    return await decide(project, data)


async def find_run(project: VisitedProject, run: str) -> AgentRunStory:
    """Return the story of a run. Raises: HTTPException: it does not exist."""
    story = (await project.ask(ShowAgentRun, run)).story
    if story is None:
        hint = "'bbops agents traces' shows those of the last 30 days"
        raise refuse(ServerError(f"there is no run '{run}'", hint=hint), 404)
    return story


async def find_usage(project: VisitedProject, seconds: float) -> list[AgentUsage]:
    """Return the usage of each agent in the last seconds."""
    return (await project.ask(CountAgentRuns, seconds)).usage


async def decide(project: VisitedProject, decision: CallDecision) -> DecidedCall:
    """Approve or reject a call, and write the audit log.

    Raises:
        HTTPException: the call does not exist.
    """
    by = project.visit.caller.name or project.visit.caller.email
    answer = await project.ask(DecideAgentCall, decision.call, decision.approve, by)
    if answer.decided is None:
        hint = "'bbops agents approve' lists the calls that wait"
        raise refuse(ServerError(f"there is no call '{decision.call}'", hint=hint), 404)
    if answer.decided.is_changed:
        call = answer.decided.call
        action = "approve call" if decision.approve else "reject call"
        await project.note(action, f"{call.agent} {call.tool} {call.id}")
    return answer.decided


ROUTES = (*list_runs, *show_run, *list_usage, *list_calls, *decide_call)
