"""Runs of agents of a project or draft, and calls that need an approval."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from litestar.params import Body, FromPath, QueryParameter

from bbops.base.errors import ServerError
from bbops.base.json_work import AgentCall, AgentRun, AgentRunStory, AgentUsage, DecidedCall
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.visited_project import DRAFT, PROJECT, VisitedProject
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import change, read
from bbops_server.control_plane.web.visit import Here
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


@read(f"{PROJECT}/agents/runs", Permission.READ_JOBS)
async def list_runs(
    visit: Here, name: FromPath[str], agent: Agent = "", limit: Limit = 100
) -> list[AgentRun]:
    """Runs of agents, newest first."""
    project = VisitedProject.open(visit, name)
    return (await project.ask(ListAgentRuns, agent, limit)).runs


@read(f"{PROJECT}/agents/runs/story", Permission.READ_JOBS)
async def show_run(visit: Here, name: FromPath[str], run: Run) -> AgentRunStory:
    """The steps of a run, its answer, and its calls that needed an approval."""
    return await find_run(VisitedProject.open(visit, name), run)


@read(f"{PROJECT}/agents/usage", Permission.READ_JOBS)
async def list_usage(
    visit: Here, name: FromPath[str], seconds: Seconds = 86_400
) -> list[AgentUsage]:  # fmt: skip
    """The number of runs, tokens and money of each agent in the last seconds, by default a day."""
    return await find_usage(VisitedProject.open(visit, name), seconds)


@read(f"{PROJECT}/agents/calls", Permission.READ_JOBS)
async def list_calls(
    visit: Here, name: FromPath[str], agent: Agent = "", limit: Limit = 100
) -> list[AgentCall]:
    """Calls that wait for an approval, oldest first."""
    project = VisitedProject.open(visit, name)
    return (await project.ask(ListAgentCalls, agent, limit)).calls


@change(f"{PROJECT}/agents/calls/decide", Permission.DECIDE_CALLS, status=200)
async def decide_call(
    visit: Here, name: FromPath[str], data: Annotated[CallDecision, Body()]
) -> DecidedCall:
    """Approve or reject a call; its run continues."""
    return await decide(VisitedProject.open(visit, name), data)


@read(f"{DRAFT}/agents/runs", Permission.READ_JOBS)
async def list_draft_runs(
    visit: Here, name: FromPath[str], slug: FromPath[str], agent: Agent = "", limit: Limit = 100
) -> list[AgentRun]:  # fmt: skip
    """Runs of a draft's agents, newest first."""
    draft = VisitedProject.open_draft(visit, name, slug)
    return (await draft.ask(ListAgentRuns, agent, limit)).runs


@read(f"{DRAFT}/agents/runs/story", Permission.READ_JOBS)
async def show_draft_run(
    visit: Here, name: FromPath[str], slug: FromPath[str], run: Run
) -> AgentRunStory:
    """The story of a run in a draft."""
    return await find_run(VisitedProject.open_draft(visit, name, slug), run)


@read(f"{DRAFT}/agents/usage", Permission.READ_JOBS)
async def list_draft_usage(
    visit: Here, name: FromPath[str], slug: FromPath[str], seconds: Seconds = 86_400
) -> list[AgentUsage]:
    """The usage of a draft's agents, as `GET /api/projects/{name}/agents/usage`."""
    return await find_usage(VisitedProject.open_draft(visit, name, slug), seconds)


@read(f"{DRAFT}/agents/calls", Permission.READ_JOBS)
async def list_draft_calls(
    visit: Here, name: FromPath[str], slug: FromPath[str], agent: Agent = "", limit: Limit = 100
) -> list[AgentCall]:  # fmt: skip
    """Calls of a draft's agents that wait for an approval."""
    draft = VisitedProject.open_draft(visit, name, slug)
    return (await draft.ask(ListAgentCalls, agent, limit)).calls


@change(f"{DRAFT}/agents/calls/decide", Permission.RUN_DRAFT_JOBS, status=200)
async def decide_draft_call(
    visit: Here, name: FromPath[str], slug: FromPath[str], data: Annotated[CallDecision, Body()]
) -> DecidedCall:
    """Approve or reject a call of a draft's agent."""
    return await decide(VisitedProject.open_draft(visit, name, slug), data)


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


ROUTES = (
    list_runs, show_run, list_usage, list_calls, decide_call, list_draft_runs, show_draft_run,
    list_draft_usage, list_draft_calls, decide_draft_call,
)  # fmt: skip
