"""Run the tests of what was just built."""

from __future__ import annotations

from bbops_server.process.messages.forks.run_tests import CaseReport
from bbops_server.process.messages.request import Request


class RunBuildTests(Request[CaseReport], frozen=True):
    """Run the tests of what was just built."""

    state: str
    digest: str
