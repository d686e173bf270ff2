"""Run the tests of a commit that is not to be served."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from bbops_server.process.messages.forks.run_tests import CaseReport
from bbops_server.process.messages.request import Request


class RunCommitTests(Request[CaseReport], frozen=True):
    """Run the tests of a commit that is not to be served."""

    source: Mapping[str, Any]
    """As `publish.build.sources.Source`."""

    state: str
    """Whose tests these are: they end others of the same."""

    engine: Literal["sqlite", "postgres"]
    off: tuple[str, ...]
