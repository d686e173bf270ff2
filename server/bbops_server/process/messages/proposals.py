"""Proposals, and an agent's work on a draft."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops_server.process.messages.request import AnswerMessage, RequestMessage


class ProposedChange(AnswerMessage, frozen=True):
    """The plan and the review requirements of a change.

    Attributes:
        tree: the merged tree; empty if it has errors.
        gate: failing tests block the merge.
        loosened: review rules that the change would weaken.
        digest: the identity of the change.
        plan: the output of `bbops plan --json`; None if it cannot be made.
        text: the output of `bbops plan`.
        refused: reasons that block the merge.
        waits: the reason why the migration needs an operator; empty if it does not.
    """

    diagnostics: list[JsonDiagnostic]
    tree: str
    gate: bool
    loosened: list[str]
    digest: str
    plan: dict[str, Any] | None
    text: str
    approvals: int
    reasons: list[str]
    refused: list[str]
    agents: str
    waits: str = ""


class Propose(RequestMessage[ProposedChange], frozen=True):
    """Plan the change from one commit to another."""

    database: str
    """A place in the form of `write_place`."""

    state: str
    source: Mapping[str, Any]
    """A `publish.build.sources.Source`."""

    base: Mapping[str, Any]
    """The current commit, in the same form."""

    engine: Literal["sqlite", "postgres"]
    off: tuple[str, ...]
    review: Mapping[str, Any]
    """The live review rules."""

    digest: str = ""
    """The digest of the approved change; empty without an approval."""

    agreed_by: str = ""

    work: Mapping[str, tuple[int, int]] | None = None
    """The numbers of started and waiting jobs, by trigger, task or function."""


class ImpactPlan(AnswerMessage, frozen=True):
    """The output of `bbops db plan --json`."""

    plan: dict[str, Any]


class WeighTables(RequestMessage[ImpactPlan], frozen=True):
    """Plan the effect of uncommitted tables on the data."""

    database: str
    """A place in the form of `write_place`."""

    state: str
    tables: Mapping[str, Mapping[str, Any]]
    """Tables in the form of their files."""

    engine: Literal["sqlite", "postgres"]


class WorkRefusal(AnswerMessage, frozen=True):
    """The reason of a refusal, and the tool calls that resolve it."""

    message: str
    hint: str
    calls: list[dict[str, Any]]


class DoWorkAnswer(AnswerMessage, frozen=True):
    """A tool's result, or its refusal."""

    done: dict[str, Any] | None = None
    refused: WorkRefusal | None = None


class Workbench(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The project and repository of an agent's work.

    Attributes:
        live: the live branch.
        folder: the project's folder in the repository.
        who: name and email address of the author.
        taken: live branches of other projects.
    """

    repository: str
    live: str
    folder: str
    project: str
    taken: list[str]
    who: tuple[str, str]
    published: str
    """The live commit; empty if unknown."""

    elsewhere: str
    """The URL of the hosted repository, if this is a mirror."""

    url: str
    engine: Literal["sqlite", "postgres"]
    off: tuple[str, ...]
    database: str
    trailer: str = ""
    """The last line of commit messages; empty for none."""


class DoWork(RequestMessage[DoWorkAnswer], frozen=True):
    """Run an agent's tool in a repository."""

    work: str
    """The tool's name."""

    taken: dict[str, Any]
    """The tool's arguments."""

    bench: Workbench
