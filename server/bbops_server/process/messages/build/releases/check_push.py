"""Check a commit that is pushed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops_server.process.messages.request import Answer, Request


class CheckedPush(Answer, frozen=True):
    """What is wrong with it.

    Attributes:
        ok: whether it would work.
        follows: whether its history holds `old`.
        removed: why it removes too much; empty where it does not.
    """

    ok: bool
    diagnostics: list[JsonDiagnostic]
    follows: bool
    removed: str


class CheckPush(Request[CheckedPush], frozen=True):
    """Check a commit that is pushed."""

    source: Mapping[str, Any]
    """As `publish.build.sources.Source`."""

    old: str
    """What its branch held; empty for nothing."""

    engine: Literal["sqlite", "postgres"]
    bounds: bool
    """Whether to find out if it removes more than the project lets."""

    live: str
    """The commit that is live; empty for none."""

    off: tuple[str, ...]
