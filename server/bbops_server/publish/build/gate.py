"""Have a project's tests run before it goes live: each run in a process of its own, ended by us.

This process never runs them: whatever they do, it goes on, and so does what is served.
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
"""What all tests of a project may take."""
LATE_SECONDS: Final = 5
"""How much more the process has to say that itself."""
IDLE_SECONDS: Final = 300.0
"""What processes are forked from ends when nothing was tested for so long."""


@dataclass(slots=True)
class Run:
    """One run under way; `at` is the case that it has come to."""

    child: Child | None = None
    is_ended: bool = False
    at: Place = field(default_factory=lambda: Place("project.yaml", 1, 1))

    def note(self, event: CaseStarted) -> None:
        """Take note of the case that it has come to."""
        self.at = Place(event.file, event.line, event.column)

    def end(self) -> None:
        """Stop it at once."""
        self.is_ended = True
        if self.child is not None:
            self.child.kill()


class Gate:
    """The newest build of each project that wants to be tested, and the tests under way."""

    def __init__(self, seconds: float = TEST_SECONDS) -> None:
        self._seconds = seconds
        self._handed: dict[Path, tuple[str, BuildInput]] = {}
        self._runs: dict[Path, Run] = {}
        self._under_way: set[asyncio.Task[Any]] = set()
        self._zygotes = Zygotes("bbops_server.publish.build.zygote", nice=TEST_RUN.session_nice)
        self._resting: asyncio.TimerHandle | None = None

    def keep(self, state: Path, digest: str, handed: BuildInput | None) -> bool:
        """Remember what is to be tested, None where nothing is; return whether it is something."""
        self._handed.pop(state, None)
        if handed is not None:
            self._handed[state] = digest, handed
        return handed is not None

    @property
    def handlers(self) -> Handlers:
        """What the parent asks."""
        return {RunBuildTests: self._test, EndTests: self._end_tests}

    async def _test(self, request: RunBuildTests) -> CaseReport:
        """Run the tests of a build. Raises: ServerError: another build, or none, was kept."""
        state, digest = Path(request.state), request.digest
        known, handed = self._handed.get(state, ("", None))
        if handed is None or known != digest:
            raise ServerError(f"release '{digest[:12]}' was not built here", hint="build it again")
        return await self.run(state, handed)

    async def _end_tests(self, request: EndTests) -> DoneAnswer:
        self.end(Path(request.state))
        return DoneAnswer()

    async def run(self, state: Path, handed: BuildInput) -> CaseReport:
        """Run the tests of a project, and end those that run for the same state folder.

        Raises:
            ServerError: no process can be started.
        """
        self.end(state)
        run, began = Run(), perf_counter()
        self._runs[state] = run
        task = asyncio.current_task()
        if task is not None:
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
        try:
            found = await self._run(run, handed)
        finally:
            if self._runs.get(state) is run:
                del self._runs[state]
            self._rest_later()
        return msgspec.structs.replace(found, seconds=perf_counter() - began)

    async def _run(self, run: Run, handed: BuildInput) -> CaseReport:
        scratch = await asyncio.to_thread(tempfile.mkdtemp, prefix="bbops-test-")
        try:
            child = run.child = await self._zygotes.fork(ForkTestRun(scratch))
            child.on_event(CaseStarted, run.note)
            try:
                return await self._ask(run, child, handed)
            finally:
                child.kill()
                await child.wait()
        finally:
            await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)

    async def _ask(self, run: Run, child: Child, handed: BuildInput) -> CaseReport:
        if run.is_ended:
            return CaseReport()
        request = handed.request(self._seconds)
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
        found = JsonDiagnostic.of(Diagnostic(run.at, "test-failed", message, hint))
        return CaseReport(1, 1, [found])

    async def close(self) -> None:
        """Stop all tests, and wait until they have left nothing behind."""
        for run in self._runs.values():
            run.end()
        others = {one for one in self._under_way if one is not asyncio.current_task()}
        if others:
            await asyncio.wait(others, timeout=LATE_SECONDS)
        if self._resting is not None:
            self._resting.cancel()
        with suppress(BbopsError):
            await self._zygotes.stop()

    def end(self, state: Path) -> None:
        """Stop the tests of a project, if any run."""
        if state in self._runs:
            self._runs[state].end()

    def _rest_later(self) -> None:
        if self._resting is not None:
            self._resting.cancel()
        loop = asyncio.get_running_loop()
        self._resting = loop.call_later(IDLE_SECONDS, self._rest)

    def _rest(self) -> None:
        if not self._runs:
            task = asyncio.get_running_loop().create_task(self._zygotes.stop())
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
