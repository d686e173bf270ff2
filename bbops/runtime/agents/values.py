"""Values that agents, their jobs, chats and dialects share: names, limits, parts of answers."""

from __future__ import annotations

import hashlib
from typing import Any, Final, Literal

from bbops.runtime.steps.addons import AddonFailure
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


MOST_CHARACTERS: Final = 64
_DIGEST: Final = 8


def tool_name(function: str) -> str:
    """Return the name that the model sees of a function: letters, digits, `_` and `-`, at most 64.

    A longer one is cut, and ends with a digest.
    """
    name = function.replace("/", "__")
    if len(name) <= MOST_CHARACTERS:
        return name
    digest = hashlib.sha256(function.encode()).hexdigest()[:_DIGEST]
    return f"{name[: MOST_CHARACTERS - _DIGEST - 1]}_{digest}"


CUT_SHORT: Final = "the model wrote no text before its limit of tokens: raise 'maxTokens'"
MOST_TOKENS: Final = 1_000_000_000
"""The highest count that is believed: sums of it, and their prices, fit in columns."""
EMPTY: Final = "the model answered with neither a text nor a call of a tool"


def text_of(value: Any) -> str:
    """Return a text; anything else is an empty one."""
    return value if isinstance(value, str) else ""


def maps_in(value: Any) -> list[dict[str, Any]]:
    """Return the maps in a list; anything else is an empty one."""
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def tokens_at(usage: Any, *names: str) -> int:
    """Return the sum of counts in a vendor's usage; missing and negative ones are 0."""
    counts = [usage.get(name) for name in names] if isinstance(usage, dict) else []
    known = (count for count in counts if type(count) is int and count > 0)
    return sum(min(count, MOST_TOKENS) for count in known)


def no_answer(message: str) -> AddonFailure:
    """Return the failure of an answer that cannot be used."""
    return AddonFailure("addon-answer", message)
