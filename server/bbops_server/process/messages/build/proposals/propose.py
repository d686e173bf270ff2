"""Say what going from one commit to another would do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops_server.process.messages.request import Answer, Request


class ProposedChange(Answer, frozen=True):
    """What a change would do, and takes by the rules of the project as it is now.

    Attributes:
        tree: the files as they would be; empty where they have mistakes.
        gate: whether tests that fail are in the way.
        loosened: how changes would need less of a review than now.
        digest: names the change.
        plan: as `bbops plan --json` prints it; None where it cannot be said.
        text: as `bbops plan` prints it.
        refused: what is in the way.
        waits: why the tables would not follow by themselves; empty where they would.
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


class Propose(Request[ProposedChange], frozen=True):
    """Say what going from one commit to another would do."""

    database: str
    """As `write_place` writes it."""

    state: str
    source: Mapping[str, Any]
    """As `publish.build.sources.Source`."""

    base: Mapping[str, Any]
    """The commit now, in the same form."""

    engine: Literal["sqlite", "postgres"]
    off: tuple[str, ...]
    review: Mapping[str, Any]
    """The rules of what is live."""

    digest: str = ""
    """Of what somebody agreed to; empty where nobody did."""

    agreed_by: str = ""

    work: Mapping[str, tuple[int, int]] | None = None
    """Jobs that have begun, and jobs that wait, by trigger, task or function."""
