"""How far a project is: what people, tools and tests read to know whether it is live."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

ConditionType = Literal["Ready", "Reconciling", "Stalled"]


class Condition(msgspec.Struct, frozen=True, rename="camel"):
    """One thing that holds or does not. `reason` is CamelCase, for programs; `since` is aware."""

    type: ConditionType
    status: bool
    reason: str
    message: str
    since: datetime


class Publication(msgspec.Struct, frozen=True, rename="camel"):
    """One attempt to make a revision live, and how it ended."""

    revision: str
    at: datetime
    outcome: str
    milliseconds: int


class Status(msgspec.Struct, frozen=True, rename="camel"):
    """One project, as its server sees it.

    `attempted_revision` is the newest commit that was tried, `applied_revision` the one that is
    live. `diagnostics` are those of the attempt, as the build process gives them. `publications`
    are the last ten, newest first.
    """

    name: str
    url: str
    branch: str
    attempted_revision: str | None = None
    applied_revision: str | None = None
    release: str | None = None
    conditions: tuple[Condition, ...] = ()
    diagnostics: tuple[dict[str, Any], ...] = ()
    publications: tuple[Publication, ...] = ()

    @property
    def is_ready(self) -> bool:
        """Whether the newest commit that was tried is the one that is live."""
        return any(one.type == "Ready" and one.status for one in self.conditions)
