"""Run the tests of what proposals would make, in turn, and remember what they said of each tree."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Final

from bbops.base.errors import BbopsError
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.interfaces.answers import Tests
from bbops_server.process.children import SupervisedChild
from bbops_server.process.messages.builds import EndTests, RunCommitTests
from bbops_server.process.messages.forks import CaseReport

TEST_SECONDS: Final = 150.0
"""More than the build process gives the tests, so that it says what is late."""

MOST_KEPT: Final = 500

Key = tuple[str, ...]


RUNNING: Final = Tests("running", "its tests are running")
NEVER_OVER: Final = Tests("unknown", "its tests were still running at that time")
"""Of tests that ended with a server, or with a proposal that was closed."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What is to be tested.

    Attributes:
        place: whose trial it is: a newer one of the same place ends it.
        tree: what was tested already is known by this.
        asked: how the build process is asked for it.
        is_urgent: whether it runs beside the others, where somebody waits to go back.
    """

    place: str
    tree: Key
    asked: RunCommitTests
    is_urgent: bool = False


class ProposalTests:
    """Those of one server: one at a time runs, so that publications find the processor free.

    What is urgent waits for no other.
    """

    def __init__(self, build: SupervisedChild) -> None:
        self._build = build
        self._known: dict[Key, Tests] = {}
        self._running: dict[str, tuple[Key, asyncio.Task[None]]] = {}
        self._turn = asyncio.Lock()

    async def look(self, trial: Trial, *, wait_seconds: float = 0.0) -> Tests:
        """Return what the tests say, which run if they have not yet.

        Args:
            trial: what is asked about.
            wait_seconds: for them to end. Who waits has what could not be run tried again.
        """
        self.end(trial.place, but=trial.tree)
        known = self._known.get(trial.tree)
        if known is not None and not (wait_seconds and known.state == "unknown"):
            return known
        task = self._start(trial)
        if wait_seconds:
            await asyncio.wait({task}, timeout=wait_seconds)
        return self._known.get(trial.tree, RUNNING)

    def find(self, place: str, tree: Key) -> Tests | None:
        """Return what the tests of a tree say, without running them; None where that is unknown."""
        is_running = self._running.get(place, ((), None))[0] == tree
        return self._known.get(tree, RUNNING if is_running and tree else None)

    def end(self, place: str, *, but: Key = ()) -> None:
        """End what runs at a place, unless it is of this tree."""
        tree, task = self._running.get(place, (but, None))
        if task is not None and tree != but:
            del self._running[place]
            task.cancel()

    async def stop(self) -> None:
        """End what runs."""
        tasks = [task for _, task in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, trial: Trial) -> asyncio.Task[None]:
        if trial.place in self._running:
            return self._running[trial.place][1]
        task = asyncio.create_task(self._run(trial))
        self._running[trial.place] = trial.tree, task
        task.add_done_callback(lambda done: self._forget(trial.place, done))
        return task

    async def _run(self, trial: Trial) -> None:
        async with nullcontext() if trial.is_urgent else self._turn:
            try:
                answer = await self._build.ask(trial.asked, timeout_seconds=TEST_SECONDS)
                found = _read(answer)
            except asyncio.CancelledError:
                with suppress(BbopsError):
                    await self._build.ask(EndTests(trial.asked.state), timeout_seconds=1)
                raise
            except BbopsError as error:
                found = Tests("unknown", f"its tests could not be run: {error.message}")
        self._known.pop(trial.tree, None)
        self._known[trial.tree] = found
        if len(self._known) > MOST_KEPT:
            del self._known[next(iter(self._known))]

    def _forget(self, place: str, done: asyncio.Task[None]) -> None:
        if self._running.get(place, ((), None))[1] is done:
            del self._running[place]


def _read(answer: CaseReport) -> Tests:
    cases, failed, seconds = answer.cases, answer.failed, answer.seconds
    found = answer.diagnostics
    passed = cases - failed
    if found:
        summary = f"its tests fail: {_told(found)}"
        return Tests("failed", summary, passed, failed, seconds, found)
    counted = f"{cases} case{'s' if cases != 1 else ''}" if cases else ""
    summary = f"its tests pass: {counted} in {seconds:.1f} s" if cases else "it has no tests"
    return Tests("passed", summary, passed, 0, seconds)


def _told(found: Sequence[JsonDiagnostic]) -> str:
    first = found[0]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{first.file}:{first.line}: {first.message}{more}"
