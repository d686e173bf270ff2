"""Run the tests of a project, in a forked process that is bound by `forks.limits`.

What a test runs is what `bbops test` runs: an empty database, a fake world. It is code that nobody
has reviewed, so the process has nothing else: no repository, no value, no channel but to who waits.
"""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final

from bbops.base.diagnostics import Diagnostic, Place
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.build.compile.release import Built, build
from bbops.build.testing.report import as_diagnostics
from bbops.build.testing.running import Chosen, Runner, choose
from bbops.source.tree import MemoryTree
from bbops_server.process.forks import limits
from bbops_server.process.host.log import start_logging
from bbops_server.process.messages.failures import pack_error
from bbops_server.process.messages.forks import CaseReport, CaseStarted, ForkTestRun, RunTests
from bbops_server.process.messages.frames import (
    AnswerFrame,
    EventFrame,
    Frame,
    RequestFrame,
    encode,
    pack,
    read_now,
)
from bbops_server.process.messages.request import MessageReader, write_answer
from bbops_server.publish.build.build_input import BuildInput

TEST_SECONDS: Final = 120
"""What all tests of a project may take."""
MOST_TOLD: Final = 50
MOST_LETTERS: Final = 2_000
"""Of one message."""

_SAMPLE: Final = {
    "project.yaml": "bbops: 1\nname: warm\n",
    "tables/notes.yaml": "columns:\n  id: { type: integer, primaryKey: true }\n",
    "functions/list.yaml": "steps:\n  - find: { table: notes }\n    as: found\n"
    "  - return: { value: '${ vars.found }' }\n",
    "endpoints/list.yaml": "method: GET\npath: /notes\nfunction: list\nauthentication: None\n"
    "description: All of them.\n",
    "tests/list.yaml": "endpoint: list\ncases:\n  - name: warm\n    expect: { status: 200 }\n",
}
"""Compiled before anything is forked, which imports what every project needs."""


class Trial:
    """One run of a project's tests; `tell` hears of each case before it runs."""

    def __init__(
        self, built: Built, seconds: float = TEST_SECONDS,
        tell: Callable[[Chosen], None] = lambda _: None,
    ) -> None:  # fmt: skip
        self.built, self.seconds, self._tell = built, seconds, tell
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
            self._tell(chosen)
            try:
                async with asyncio.timeout_at(until):
                    outcome = await runner.run(chosen)
            except TimeoutError:
                self.found.append(late(chosen.test.place("cases", chosen.at), self.seconds))
                return
            self.cases += 1
            self.failed += bool(outcome.wrong)
            self.found += as_diagnostics(outcome)


def late(place: Place, seconds: float) -> Diagnostic:
    """Return what is said where a case ran when the time was over."""
    message = f"the tests take longer than {seconds:g} seconds; this case was running"
    return Diagnostic(place, "test-failed", message, "make them faster, or remove some")


def warm() -> None:
    """Import what tests need, before anything is forked."""
    built = build(MemoryTree(_SAMPLE))
    if built.project is None:
        raise ValueError(built.diagnostics)


def run(forked: ForkTestRun) -> None:
    """Run the tests of the project that the parent hands over, and say what came of it."""
    limits.apply(limits.TEST_RUN)
    os.umask(0o077)
    tempfile.tempdir = os.environ["TMPDIR"] = os.environ["SQLITE_TMPDIR"] = forked.scratch
    os.chdir(forked.scratch)
    start_logging()
    reader = MessageReader("a process that runs tests", (RunTests,))
    with socket.socket(socket.AF_UNIX) as control:
        control.connect(forked.control)
        while (frame := read_now(control)) is not None:
            if isinstance(frame, RequestFrame):
                control.sendall(pack(_answer(frame, reader, control)))


def _answer(asked: RequestFrame, reader: MessageReader[RunTests], control: socket.socket) -> Frame:
    try:
        request = reader.read(asked.request)
        return AnswerFrame(asked.number, write_answer(request, _test(request, control)))
    except Exception as error:  # noqa: BLE001 - the parent gets an answer to everything
        return pack_error(asked.number, error)


def _test(request: RunTests, control: socket.socket) -> CaseReport:
    def tell(chosen: Chosen) -> None:
        place = chosen.test.place("cases", chosen.at)
        control.sendall(pack(EventFrame(encode(CaseStarted(place.file, place.line, place.column)))))

    trial = Trial(BuildInput.unpack(request).build(), request.seconds, tell)
    trial.run()
    found = (replace(one, message=one.message[:MOST_LETTERS]) for one in trial.found[:MOST_TOLD])
    return CaseReport(trial.cases, trial.failed, [*map(JsonDiagnostic.of, found)])
