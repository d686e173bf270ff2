"""Copy rows of what is live into a draft."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bbops_server.process.messages.request import Answer, Request


class CopiedRows(Answer, frozen=True):
    """How many, by table."""

    rows: dict[str, int]


class CopyRows(Request[CopiedRows], frozen=True):
    """Copy rows of what is live into a draft."""

    source: Mapping[str, Any]
    """As `publish.build.sources.Source`."""

    origin: str
    """The live database, as `write_place` writes it."""

    target: str
    tables: list[str]
    limit: int
    """Rows of each."""

    masked: list[str]
