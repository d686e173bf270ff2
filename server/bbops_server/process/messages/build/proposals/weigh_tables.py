"""Say what tables that are in no commit would do to the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from bbops_server.process.messages.request import Answer, Request


class ImpactPlan(Answer, frozen=True):
    """As `bbops db plan --json` prints it."""

    plan: dict[str, Any]


class WeighTables(Request[ImpactPlan], frozen=True):
    """Say what tables that are in no commit would do to the data."""

    database: str
    """As `write_place` writes it."""

    state: str
    tables: Mapping[str, Mapping[str, Any]]
    """As files would say them."""

    engine: Literal["sqlite", "postgres"]
