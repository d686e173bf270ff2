"""Runs of a project's own agents, as the tools about jobs show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from bbops.base.json_work import AgentCall, AgentRunStory, AgentStep
from bbops.base.moments import shown_time
from bbops.interfaces.mcp.models import MAX_RESULT

PREFIX: Final = "agents/"
"""The beginning of the name of a job that is a run of an agent."""

_MAX_TEXT: Final = 4_000
"""Characters of the text, the arguments or the calls of a step, and of an answer."""


class CallLine(msgspec.Struct, frozen=True, rename="camel"):
    """A call of a tool that waits for a person; no tool of MCP decides about it.

    Attributes:
        arguments: JSON.
        until: the time at which the call is rejected.
    """

    job: str
    tool: str
    arguments: str
    until: str

    @classmethod
    def of(cls, call: AgentCall) -> CallLine:
        """Return the line for a call."""
        return cls(call.run, call.tool, _json(call.arguments), shown_time(call.expires_at))


class StepLine(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A step: `message`, `model` or `tool`. Arguments and calls are JSON; long texts are cut."""

    kind: str
    text: str
    ms: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tool: str = ""
    arguments: str = ""
    calls: str = ""
    is_error: bool = False


class RunTrace(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A run of an agent with its steps; secrets and private columns are masked."""

    state: str
    tokens_in: int
    tokens_out: int
    steps: list[StepLine]
    money: float = 0.0
    error: str = ""
    answer: str = ""
    is_cut: bool = False

    @classmethod
    def of(cls, story: AgentRunStory) -> RunTrace:
        """Return the steps that fit into a result, oldest first."""
        run, steps = story.run, list(_fitting(story.steps))
        return cls(
            run.state, run.tokens_in, run.tokens_out, steps, run.money, run.error,
            _json(story.answer), len(steps) < len(story.steps),
        )  # fmt: skip


def _fitting(steps: Sequence[AgentStep]) -> Iterator[StepLine]:
    size = 0
    for step in steps:
        line = StepLine(
            step.kind, step.text[:_MAX_TEXT], step.ms, step.tokens_in, step.tokens_out, step.tool,
            _json(step.arguments), _json(step.calls or None), step.is_error,
        )  # fmt: skip
        size += len(line.text) + len(line.arguments) + len(line.calls)
        if size > MAX_RESULT:
            return
        yield line


def _json(value: Any) -> str:
    """Return a value as JSON that is cut; empty for None."""
    return "" if value is None else msgspec.json.encode(value).decode()[:_MAX_TEXT]
