"""Write what a commit publishes to its callers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from bbops_server.process.messages.request import Answer, Request


class WrittenContract(Answer, frozen=True):
    """Its text."""

    text: str
    content_type: str
    digest: str


class WriteContract(Request[WrittenContract], frozen=True):
    """Write what a commit publishes to its callers."""

    source: Mapping[str, Any]
    """As `publish.build.sources.Source`."""

    form: str
    """A format."""

    url: str
    engine: Literal["sqlite", "postgres"]
