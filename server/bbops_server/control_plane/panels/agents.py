"""The page of a project's agents: calls that wait, agents and runs, as `bbops agents` has them."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final

from litestar import Response
from litestar.exceptions import ClientException
from litestar.params import FromPath, QueryParameter

from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.agents import CallDecision, decide, find_run, find_usage
from bbops_server.control_plane.projects.visited_project import VisitedProject
from bbops_server.control_plane.web.frame import Panel
from bbops_server.control_plane.web.outline_page import OutlineLinks, OutlinePage
from bbops_server.control_plane.web.routes import form, page, require_permission
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.process.messages.agents import ListAgentCalls, ListAgentRuns

MAX_SHOWN: Final = 100
_DAY_SECONDS: Final = 86_400
_ACTIONS: Final = {"approve": True, "reject": False}
_NOTICES: Final = {
    "approve": "The call is approved, and its run continues.",
    "reject": "The call is rejected, and its run continues without it.",
    "late": "The call does not wait any longer: somebody has decided, or its run is over.",
}  # fmt: skip
_KINDS: Final = {
    "done": "good", "running": "good", "queued": "", "waiting": "odd", "held": "odd",
    "failed": "bad", "approved": "good", "rejected": "bad", "expired": "plain",
}  # fmt: skip
"""The look of each state of runs and calls."""


@page("/projects/{name:str}/agents", Permission.READ_JOBS)
async def show_agents(
    visit: Here, name: FromPath[str],
    agent: Annotated[str, QueryParameter(max_length=400)] = "",
    done: Annotated[str, QueryParameter(max_length=20)] = "",
) -> Response[Any]:  # fmt: skip
    """Show the calls that wait, the agents with their usage, and the runs, newest first."""
    shown, project = await OutlinePage.open(visit, name), VisitedProject.open_target(visit, name)
    calls = (await project.ask(ListAgentCalls, "", MAX_SHOWN)).calls
    runs = (await project.ask(ListAgentRuns, agent, MAX_SHOWN)).runs
    usage = {used.agent: used for used in await find_usage(project, _DAY_SECONDS)}
    return shown.show(
        "agents", agents=shown.outline.agents if shown.outline else (), calls=calls, runs=runs,
        usage=usage, agent=agent, most=MAX_SHOWN, target=project.draft, as_json=_as_json,
        kinds=_KINDS, may_decide=_may_decide(visit, project, name), notice=_NOTICES.get(done, ""),
    )  # fmt: skip


@page("/projects/{name:str}/agents/run", Permission.READ_JOBS)
async def show_run(
    visit: Here, name: FromPath[str],
    run: Annotated[str, QueryParameter(name="name", max_length=400)] = "",
) -> Response[Any]:  # fmt: skip
    """Show a run: messages, the model's answers, calls with their results, and approvals."""
    project = VisitedProject.open_target(visit, name)
    story = await find_run(project, run)
    return visit.page(
        "agent_run", project=name, story=story, run=story.run, target=project.draft,
        link=OutlineLinks(name, project.draft), as_json=_as_json, kinds=_KINDS,
        may_decide=_may_decide(visit, project, name),
    )  # fmt: skip


@form("/projects/{name:str}/agents/decide", Permission.RUN_DRAFT_JOBS)
async def decide_by_page(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Approve or reject a call."""
    action, call = await visit.field("action"), await visit.field("call")
    if action not in _ACTIONS or not call:
        raise ClientException("the form is incomplete; reload the page")
    project = VisitedProject.open_target(visit, name)
    if project.is_live:
        await require_permission(visit, Permission.DECIDE_CALLS, name)
    decided = await decide(project, CallDecision(call, _ACTIONS[action]))
    done = action if decided.is_changed else "late"
    return visit.go(OutlineLinks(name, project.draft).to("agents", done=done))


def _may_decide(visit: Visit, project: VisitedProject, name: str) -> bool:
    needed = Permission.DECIDE_CALLS if project.is_live else Permission.RUN_DRAFT_JOBS
    return visit.may(needed, name)


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


PANEL = Panel(
    "Run", 60, "Agents", "agent", "/agents", Permission.READ_JOBS, count="agents", in_drafts=True,
    actions=(("Approve a call of an agent", Permission.RUN_DRAFT_JOBS),),
)  # fmt: skip
ROUTES = (show_agents, show_run, decide_by_page)
