"""Run a project's tests before it goes live: on a thread of its own, bounded, ended when asked.

What a test runs is what `bbops test` runs: an empty database, a fake world. Nothing that is served
is touched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from time import perf_counter

from bbops.compile.release import Built
from bbops.diagnostics import Diagnostic
from bbops.errors import ServerError
from bbops.testing.report import as_diagnostics
from bbops.testing.running import Chosen, Runner, choose
from bbops_server.build.telling import describe
from bbops_server.build.turns import Verb
from bbops_server.messages import Frame

TEST_SECONDS = 120
"""What all tests of a project may take."""
CLOSE_SECONDS = 2
MOST_TOLD = 50


class Trial:
    """One run of a project's tests."""

    def __init__(self, built: Built, seconds: float = TEST_SECONDS) -> None:
        self.built, self.seconds = built, seconds
        self.cases = self.failed = 0
        self.found: list[Diagnostic] = []
        self._ended = False
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Task[None]] | None = None

    def run(self) -> None:
        """Run every case, until the time is over or `end` is called. Blocks its thread."""
        if self.built.project is None or not choose(self.built.project):
            return
        with Runner(self.built) as runner:
            asyncio.run(self._run(runner))

    def end(self) -> None:
        """Stop the run, from any thread."""
        self._ended = True
        if self._running is not None:
            loop, task = self._running
            with suppress(RuntimeError):  # it has just come to its end
                loop.call_soon_threadsafe(task.cancel)

    async def _run(self, runner: Runner) -> None:
        task = asyncio.create_task(self._run_all(runner))
        self._running = asyncio.get_running_loop(), task
        if self._ended:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    async def _run_all(self, runner: Runner) -> None:
        until = asyncio.get_running_loop().time() + self.seconds
        for chosen in choose(runner.project):
            try:
                async with asyncio.timeout_at(until):
                    outcome = await runner.run(chosen)
            except TimeoutError:
                self.found.append(self._late(chosen))
                return
            self.cases += 1
            self.failed += bool(outcome.wrong)
            self.found += as_diagnostics(outcome)

    def _late(self, chosen: Chosen) -> Diagnostic:
        message = f"the tests take longer than {self.seconds:g} seconds; this case was running"
        place = chosen.test.place("cases", chosen.at)
        return Diagnostic(place, "test-failed", message, "make them faster, or leave some out")


class Gate:
    """The newest build of each project that wants to be tested, and the tests under way."""

    def __init__(self) -> None:
        self._built: dict[Path, Built] = {}
        self._trials: dict[Path, Trial] = {}
        self._threads: set[asyncio.Future[None]] = set()

    def keep(self, state: Path, built: Built) -> bool:
        """Remember a build until it is tested; return whether its project asks for that."""
        self._built.pop(state, None)
        if built.project is None or not built.project.settings.model.tests.gate:
            return False
        self._built[state] = built
        return True

    @property
    def verbs(self) -> Mapping[str, Verb]:
        """What the parent asks."""
        return {"test": self._test, "end test": self._end_test}

    async def _test(self, request: Frame) -> Frame:
        """Run the tests of a build. Raises: ServerError: another build, or none, was kept."""
        state, digest = Path(request["state"]), request["digest"]
        built = self._built.get(state)
        if built is None or built.digest != digest:
            raise ServerError(f"release '{digest[:12]}' was not built here", hint="build it again")
        return await self.run(state, built)

    async def _end_test(self, request: Frame) -> Frame:
        self.end(Path(request["state"]))
        return {}

    async def run(self, state: Path, built: Built) -> Frame:
        """Run the tests of a build, and end those that run for the same state folder.

        Returns:
            How many `cases` ran and `failed`, in how many `seconds`, and their `diagnostics`.
        """
        self.end(state)
        trial, began = Trial(built), perf_counter()
        self._trials[state] = trial
        try:
            await self._run(trial)
        finally:
            if self._trials.get(state) is trial:
                del self._trials[state]
        return {
            "cases": trial.cases, "failed": trial.failed, "seconds": perf_counter() - began,
            "diagnostics": [describe(one) for one in trial.found[:MOST_TOLD]],
        }  # fmt: skip

    async def _run(self, trial: Trial) -> None:
        thread = asyncio.get_running_loop().run_in_executor(None, trial.run)
        self._threads.add(thread)
        thread.add_done_callback(self._threads.discard)
        await thread

    async def close(self) -> None:
        """Stop all tests, and wait a moment for them to clear up."""
        for trial in self._trials.values():
            trial.end()
        if self._threads:
            await asyncio.wait(self._threads, timeout=CLOSE_SECONDS)

    def end(self, state: Path) -> None:
        """Stop the tests of a project, if any run."""
        if state in self._trials:
            self._trials[state].end()
