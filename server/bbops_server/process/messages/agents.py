"""Runs of a project's agents, and calls that need an approval."""

from __future__ import annotations

from bbops.base.json_work import AgentCall, AgentRun, AgentRunStory, AgentUsage, DecidedCall
from bbops_server.process.messages.request import AnswerMessage, RequestMessage


class ListAgentRunsAnswer(AnswerMessage, frozen=True):
    """Runs, newest first."""

    runs: list[AgentRun]


class ListAgentRuns(RequestMessage[ListAgentRunsAnswer], frozen=True):
    """List runs of agents."""

    project: str
    agent: str = ""
    """An agent to filter by; empty for all agents."""

    most: int = 100


class ShowAgentRunAnswer(AnswerMessage, frozen=True):
    """A run's story; None if the run does not exist."""

    story: AgentRunStory | None


class ShowAgentRun(RequestMessage[ShowAgentRunAnswer], frozen=True):
    """Show a run's story."""

    project: str
    run: str


class CountAgentRunsAnswer(AnswerMessage, frozen=True):
    """The usage of each agent that ran, by name."""

    usage: list[AgentUsage]


class CountAgentRuns(RequestMessage[CountAgentRunsAnswer], frozen=True):
    """Count the runs of each agent in the last seconds."""

    project: str
    seconds: float


class ListAgentCallsAnswer(AnswerMessage, frozen=True):
    """Calls that wait for an approval, oldest first."""

    calls: list[AgentCall]


class ListAgentCalls(RequestMessage[ListAgentCallsAnswer], frozen=True):
    """List calls that wait for an approval."""

    project: str
    agent: str = ""
    most: int = 100


class DecideAgentCallAnswer(AnswerMessage, frozen=True):
    """The call after the decision; None if it does not exist."""

    decided: DecidedCall | None


class DecideAgentCall(RequestMessage[DecideAgentCallAnswer], frozen=True):
    """Approve or reject a call."""

    project: str
    call: str
    is_approved: bool
    by: str
    """The name of the person."""
