"""Shared structs and types of the project tools: resources, drafts, changes and agent runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from bbops.base.json_work import AgentCall, AgentRunStory, AgentStep
from bbops.base.moments import shown_time
from bbops.language.resources import folders

SETTINGS: Final = "settings"
DOC: Final = "doc"
FOLDERS: Final[Mapping[str, str]] = {
    DOC: "docs", **{name: folder for name, folder in folders().items() if folder}, SETTINGS: "",
}  # fmt: skip
"""The folder of each kind; the settings are only `project.yaml`."""

KINDS: Final = tuple(sorted(FOLDERS))
if TYPE_CHECKING:
    Kind = str
else:
    Kind = Literal[KINDS]

MAX_CHANGES: Final = 50
MAX_RESULT: Final = 24_000
"""Characters of the longest part of a result, such as a diff: about 6,000 tokens."""

Ref = Annotated[str, Meta(max_length=230, description="kind/name, such as endpoint/orders.list")]
ShortRef = Annotated[str, Meta(max_length=230)]
Draft = Annotated[str, Meta(max_length=100, description="Branch; omit for the live one")]
OwnDraft = Annotated[str, Meta(min_length=1, max_length=100)]
Cursor = Annotated[str, Meta(max_length=300, description="nextCursor of the previous page")]
Limit = Annotated[int, Meta(ge=1, le=100)]
Number = Annotated[int, Meta(ge=1, le=2**31)]
Commit = Annotated[str, Meta(pattern="^[0-9a-f]{7,64}$")]


class DraftChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A change of a resource, or with a `path` of an entry in it.

    Attributes:
        body: the whole resource, for put.
        path: keys and indexes from the root of the body.
        value: the new value at the path, for put.
        to: the new name of the resource or key, for rename; the name of the copy, for copy.
        base: the digest that the agent has read; empty to overwrite any content.
    """

    op: Literal["put", "delete", "rename", "copy"]
    ref: ShortRef
    body: Annotated[
        dict[str, Any], Meta(description="put: the whole resource, as context_schema says")
    ] = {}
    path: Annotated[
        list[str | int],
        Meta(max_length=60, description="keys and indexes: change only this entry"),
    ] = []
    value: Annotated[Any, Meta(description="put with path: the new value")] = None
    to: Annotated[str, Meta(max_length=200, description="rename, copy: name")] = ""
    base: Annotated[
        str, Meta(max_length=64, description="digest you read; refused if it changed since")
    ] = ""


class ToolDiagnostic(msgspec.Struct, frozen=True):
    """A diagnostic: the problem, its place and its fix.

    Attributes:
        ref: the resource; empty for other files.
        fix: the change that its hint describes, to be sent unchanged; only if it is unique.
    """

    severity: str
    code: str
    message: str
    hint: str = ""
    ref: str = ""
    file: str = ""
    line: int = 1
    fix: DraftChange | UnsetType = UNSET


class ResourceSummary(msgspec.Struct, frozen=True, rename="camel"):
    """A resource in a list; `digest` identifies the content of its file."""

    ref: str
    digest: str
    summary: str
    file: str


class ProposalSummary(msgspec.Struct, frozen=True):
    """A proposal in a list."""

    number: int
    title: str
    draft: str
    state: str
    author: str
    head: str
    ready: bool = True


# ---- Runs of a project's own agents, as the tools about jobs show them

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
