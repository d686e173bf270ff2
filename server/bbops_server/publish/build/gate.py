"""Run a project's tests before it goes live, each run in its own process.

The build process never runs them: whatever they do, it continues, and releases keep serving.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import msgspec

from bbops.base.diagnostics import Diagnostic, Place
from bbops.base.errors import BbopsError, ServerError
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops_server.process.children import Child, ChildGone, ChildTimeout
from bbops_server.process.forks.keeper import Zygotes
from bbops_server.process.forks.limits import TEST_RUN
from bbops_server.process.messages.builds import EndTests, RunBuildTests
from bbops_server.process.messages.forks import CaseReport, CaseStarted, ForkTestRun
from bbops_server.process.messages.request import DoneAnswer
from bbops_server.process.messages.service import Handlers
from bbops_server.publish.build.build_input import BuildInput

TEST_SECONDS: Final = 120
"""The time limit for all tests of a project."""
LATE_SECONDS: Final = 5
"""The additional time that the process has to report a late test."""
IDLE_SECONDS: Final = 300.0
"""The time without a test run after which the parent of test processes ends."""


@dataclass(slots=True)
class GateRun:
    """A test run; `at` is the place of the case that is running."""

    child: Child | None = None
    is_ended: bool = False
    at: Place = field(default_factory=lambda: Place("project.yaml", 1, 1))

    def record_case(self, event: CaseStarted) -> None:
        """Record the case that has started."""
        self.at = Place(event.file, event.line, event.column)

    def end(self) -> None:
        """Kill its process."""
        self.is_ended = True
        if self.child is not None:
            self.child.kill()


class ReleaseGate:
    """The newest build of each project with a test gate, and the running tests."""

    def __init__(self, seconds: float = TEST_SECONDS) -> None:
        self._seconds = seconds
        self._inputs: dict[Path, tuple[str, BuildInput]] = {}
        self._runs: dict[Path, GateRun] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._zygotes = Zygotes("bbops_server.publish.build.zygote", nice=TEST_RUN.session_nice)
        self._idle_timer: asyncio.TimerHandle | None = None

    def keep(self, state: Path, digest: str, test_input: BuildInput | None) -> bool:
        """Keep the input of a test run, None without a gate; return whether there is a gate."""
        self._inputs.pop(state, None)
        if test_input is not None:
            self._inputs[state] = digest, test_input
        return test_input is not None

    @property
    def handlers(self) -> Handlers:
        """Handlers for requests of the parent."""
        return {RunBuildTests: self._test, EndTests: self._end_tests}

    async def _test(self, request: RunBuildTests) -> CaseReport:
        """Run the tests of a build. Raises: ServerError: this process has not built it."""
        state, digest = Path(request.state), request.digest
        known, test_input = self._inputs.get(state, ("", None))
        if test_input is None or known != digest:
            raise ServerError(f"release '{digest[:12]}' was not built here", hint="build it again")
        return await self.run(state, test_input)

    async def _end_tests(self, request: EndTests) -> DoneAnswer:
        self.end(Path(request.state))
        return DoneAnswer()

    async def run(self, state: Path, test_input: BuildInput) -> CaseReport:
        """Run the tests of a project, and end a previous run for the same state folder.

        Raises:
            ServerError: no process can be started.
        """
        self.end(state)
        run, began = GateRun(), perf_counter()
        self._runs[state] = run
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        try:
            report = await self._run(run, test_input)
        finally:
            if self._runs.get(state) is run:
                del self._runs[state]
            self._restart_idle_timer()
        return msgspec.structs.replace(report, seconds=perf_counter() - began)

    async def _run(self, run: GateRun, test_input: BuildInput) -> CaseReport:
        scratch = await asyncio.to_thread(tempfile.mkdtemp, prefix="bbops-test-")
        try:
            child = run.child = await self._zygotes.fork(ForkTestRun(scratch))
            child.on_event(CaseStarted, run.record_case)
            try:
                return await self._ask(run, child, test_input)
            finally:
                child.kill()
                await child.wait()
        finally:
            await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)

    async def _ask(self, run: GateRun, child: Child, test_input: BuildInput) -> CaseReport:
        if run.is_ended:
            return CaseReport()
        request = test_input.request(self._seconds)
        try:
            return await child.ask(request, timeout_seconds=self._seconds + LATE_SECONDS)
        except ChildTimeout:
            message = f"the tests take longer than {self._seconds:g} seconds; this case was running"
            hint = "make them faster, or remove some"
        except ChildGone:
            if run.is_ended:
                return CaseReport()
            message = "the tests exceeded their memory or time limit; this case was running"
            hint = f"{TEST_RUN.memory_bytes >> 20} MiB are available for all of them"
        diagnostic = JsonDiagnostic.of(Diagnostic(run.at, "test-failed", message, hint))
        return CaseReport(1, 1, [diagnostic])

    async def close(self) -> None:
        """Stop all tests, and wait until their files are removed."""
        for run in self._runs.values():
            run.end()
        others = {task for task in self._tasks if task is not asyncio.current_task()}
        if others:
            await asyncio.wait(others, timeout=LATE_SECONDS)
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        with suppress(BbopsError):
            await self._zygotes.stop()

    def end(self, state: Path) -> None:
        """Stop the tests of a project, if they are running."""
        if state in self._runs:
            self._runs[state].end()

    def _restart_idle_timer(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        loop = asyncio.get_running_loop()
        self._idle_timer = loop.call_later(IDLE_SECONDS, self._end_idle)

    def _end_idle(self) -> None:
        if not self._runs:
            task = asyncio.get_running_loop().create_task(self._zygotes.stop())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
