"""Names and values that agents, their jobs and their chats share."""

from __future__ import annotations

from typing import Final, Literal

from bbops.runtime.values.failures import HttpFailure, JobFailure, PayloadFailure
from bbops.runtime.work.values import AGENT_EVENTS

AGENTS: Final = "agents/"
"""Prefix of the work and the uid of a run."""

PATH: Final = "/~agents/"
"""Prefix of the paths of chats."""

STEPS: Final = {"aiModel": "aiModel.chatCompletion", "chatModel": "chatModel.createMessage"}
"""The step that asks a model, by its addon."""

LOOP_VERSION: Final = 1
"""Changes when the steps of a run change: runs that have begun are then held."""

DECISION: Final = "bbops.agent-decision"
"""The event with which a person decides about a call: `{id, approved}`. Projects cannot hear it."""

STARTED, WAITING, FINISHED, FAILED = AGENT_EVENTS

AGENT_LIMIT: Final = "agentLimit"
NOT_APPROVED: Final = "notApproved"

APPROVAL_MS: Final = 7 * 86_400_000
"""The time after which a call without a decision is rejected."""

RunState = Literal["queued", "running", "waiting", "done", "failed"]


def function_name(agent: str) -> str:
    """Return the name of the function of an agent's jobs; no file of `functions/` has it."""
    return f"~{AGENTS}{agent}"


def work_name(agent: str, start: str) -> str:
    """Return the work of an agent's runs, such as `agents/helpdesk/chat`."""
    return f"{AGENTS}{agent}/{start}"


class AgentLimit(PayloadFailure):
    """A run has reached a limit of its agent; another attempt would reach it, too."""

    def __init__(self, message: str) -> None:
        JobFailure.__init__(self, AGENT_LIMIT, message)


class ModelRefusal(PayloadFailure):
    """The model's server refuses a request, such as for its key; a chat does not repeat it."""

    def __init__(self, failure: HttpFailure) -> None:
        JobFailure.__init__(self, failure.code, failure.message)
