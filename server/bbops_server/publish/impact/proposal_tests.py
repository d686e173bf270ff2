"""Run the tests of proposed merges one after the other, and keep the results of each tree."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Final

from bbops.base.errors import BbopsError
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.interfaces.answers import ProposalTestResult
from bbops_server.process.children import SupervisedChild
from bbops_server.process.messages.builds import EndTests, RunCommitTests
from bbops_server.process.messages.forks import CaseReport

TEST_SECONDS: Final = 150.0
"""More than the limit of the build process, which reports the late test."""

MAX_RESULTS: Final = 500

TestKey = tuple[str, ...]


RUNNING: Final = ProposalTestResult("running", "its tests are running")
STOPPED: Final = ProposalTestResult("unknown", "its tests were still running at that time")
"""The result of tests that were stopped with a server or a closed proposal."""


@dataclass(frozen=True, slots=True)
class ProposalTestRequest:
    """A request for test results.

    Attributes:
        place: a state folder; a newer request for the same place ends this one.
        tree: the key of the results.
        request: the request to the build process.
        is_urgent: whether it runs in parallel to others, because a user waits for a rollback.
    """

    place: str
    tree: TestKey
    request: RunCommitTests
    is_urgent: bool = False


class ProposalTests:
    """Test results of one server; one run at a time, so that publications have processor time.

    Urgent requests do not wait for others.
    """

    def __init__(self, build: SupervisedChild) -> None:
        self._build = build
        self._results: dict[TestKey, ProposalTestResult] = {}
        self._running: dict[str, tuple[TestKey, asyncio.Task[None]]] = {}
        self._run_lock = asyncio.Lock()

    async def find_results(
        self, request: ProposalTestRequest, *, wait_seconds: float = 0.0
    ) -> ProposalTestResult:
        """Return test results; tests without results are started.

        Args:
            request: the tests.
            wait_seconds: the time to wait for them; if positive, tests that could not be run are
                started again.
        """
        self.end(request.place, but=request.tree)
        results = self._results.get(request.tree)
        if results is not None and not (wait_seconds and results.state == "unknown"):
            return results
        task = self._start(request)
        if wait_seconds:
            await asyncio.wait({task}, timeout=wait_seconds)
        return self._results.get(request.tree, RUNNING)

    def find(self, place: str, tree: TestKey) -> ProposalTestResult | None:
        """Return the results for a tree without running tests; None if unknown."""
        is_running = self._running.get(place, ((), None))[0] == tree
        return self._results.get(tree, RUNNING if is_running and tree else None)

    def end(self, place: str, *, but: TestKey = ()) -> None:
        """End the run at a place, unless it is for this tree."""
        tree, task = self._running.get(place, (but, None))
        if task is not None and tree != but:
            del self._running[place]
            task.cancel()

    async def stop(self) -> None:
        """End all runs."""
        tasks = [task for _, task in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, request: ProposalTestRequest) -> asyncio.Task[None]:
        if request.place in self._running:
            return self._running[request.place][1]
        task = asyncio.create_task(self._run(request))
        self._running[request.place] = request.tree, task
        task.add_done_callback(lambda done: self._forget(request.place, done))
        return task

    async def _run(self, request: ProposalTestRequest) -> None:
        async with nullcontext() if request.is_urgent else self._run_lock:
            try:
                answer = await self._build.ask(request.request, timeout_seconds=TEST_SECONDS)
                results = _read(answer)
            except asyncio.CancelledError:
                with suppress(BbopsError):
                    await self._build.ask(EndTests(request.request.state), timeout_seconds=1)
                raise
            except BbopsError as error:
                results = ProposalTestResult(
                    "unknown", f"its tests could not be run: {error.message}"
                )
        self._results.pop(request.tree, None)
        self._results[request.tree] = results
        if len(self._results) > MAX_RESULTS:
            del self._results[next(iter(self._results))]

    def _forget(self, place: str, done: asyncio.Task[None]) -> None:
        if self._running.get(place, ((), None))[1] is done:
            del self._running[place]


def _read(answer: CaseReport) -> ProposalTestResult:
    cases, failed, seconds = answer.cases, answer.failed, answer.seconds
    diagnostics = answer.diagnostics
    passed = cases - failed
    if diagnostics:
        summary = f"its tests fail: {_describe(diagnostics)}"
        return ProposalTestResult("failed", summary, passed, failed, seconds, diagnostics)
    counted = f"{cases} case{'s' if cases != 1 else ''}" if cases else ""
    summary = f"its tests pass: {counted} in {seconds:.1f} s" if cases else "it has no tests"
    return ProposalTestResult("passed", summary, passed, 0, seconds)


def _describe(diagnostics: Sequence[JsonDiagnostic]) -> str:
    first = diagnostics[0]
    more = f" (and {len(diagnostics) - 1} more)" if len(diagnostics) > 1 else ""
    return f"{first.file}:{first.line}: {first.message}{more}"
