"""Tests of a checked commit: they do not wait for the thread of publications."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from bbops.source.git.store import init
from bbops_server.process.messages.builds import RunCommitTests
from bbops_server.process.messages.forks import CaseReport
from bbops_server.publish.build.compiling import ReleaseCompiler
from bbops_server.publish.build.executor import Executor
from bbops_server.publish.build.gate import ReleaseGate
from bbops_server.publish.build.impact import ImpactHandlers
from bbops_server.publish.build.sources import OpenSources
from bbops_server.publish.build.tables import DatabaseHandlers
from tests.support.patience import PATIENCE_SECONDS
from tests.support.small_project import FILES

TEST = "endpoint: hello\ncases:\n  - name: greets\n    expect: { status: 200 }\n"


@pytest.mark.long
def test_tests_of_a_checked_commit_run_while_a_publication_is_compiled(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    files = {name: text.encode() for name, text in {**FILES, "tests/hello.yaml": TEST}.items()}
    commit = init(repository, files, message="One")
    source = {
        "kind": "git", "repository": str(repository), "commit": commit, "branch": "main",
        "path": "",
    }  # fmt: skip
    request = RunCommitTests(source, str(tmp_path), "sqlite", (), is_checked=True)
    report = asyncio.run(run_beside_a_publication(request))
    assert (report.cases, report.failed) == (1, 0)


async def run_beside_a_publication(request: RunCommitTests) -> CaseReport:
    """Run tests while the thread of publications is busy."""
    executor, sources, tables, gate = Executor(), OpenSources(), DatabaseHandlers(), ReleaseGate()
    compiling = ReleaseCompiler(sources, tables, gate)
    handlers = ImpactHandlers(executor, sources, compiling, tables, gate).handlers
    is_over = threading.Event()
    publication = asyncio.create_task(executor.run(is_over.wait))
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            report = await handlers[RunCommitTests](request)
        assert isinstance(report, CaseReport)
        assert not publication.done()
    finally:
        is_over.set()
        await publication
        await gate.close()
    return report
