"""A log of a test run, one JSON object a line, which `.ci/second_chance.py` reads.

The run is logged if the environment variable `BBOPS_OUTCOMES` names a file. Each line is written
as it happens, so the log of a run that was killed names the tests that were running.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest


def pytest_configure(config: pytest.Config) -> None:
    # Removed from the environment, so that a pytest which a test starts writes no log.
    path = os.environ.pop("BBOPS_OUTCOMES", "")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(OutcomeLog(Path(path)))


class OutcomeLog:
    """A pytest plugin that writes the log; with xdist, it runs in the controller."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8", buffering=1)

    def _write(self, **line: object) -> None:
        self._file.write(json.dumps(line) + "\n")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._write(collected=[item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: list[str]) -> None:
        self._write(collected=list(ids))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write(not_collected=report.nodeid)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._write(started=nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._write(reported=report.nodeid, outcome=report.outcome)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._write(finished=nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object, error: object) -> None:
        if error:
            self._write(killed=str(error))

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        self._write(exit=int(exitstatus))
