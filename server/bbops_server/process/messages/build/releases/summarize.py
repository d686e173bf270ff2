"""Say in one line what a release changed; the data is not asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from bbops_server.process.messages.request import Answer, Request


class Summary(Answer, frozen=True):
    """The line; empty where nobody can say."""

    plan: str


class Summarize(Request[Summary], frozen=True):
    """Say in one line what a release changed; the data is not asked."""

    source: Mapping[str, Any]
    """As `publish.build.sources.Source`."""

    base: Mapping[str, Any]
    """What was live before, in the same form."""

    engine: Literal["sqlite", "postgres"]
