"""Run the tests of a project in a forked process with the limits of `forks.limits`.

Tests run as with `bbops test`: with an empty database and a fake host. The code is unreviewed, so
the process has nothing else: no repository, no env values, and one channel to its parent.
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
from bbops.compiler.compile.release import Built, build
from bbops.compiler.testing.report import as_diagnostics
from bbops.compiler.testing.running import Chosen, Runner, choose
from bbops.source.tree import MemoryTree
from bbops_server.process.forks import limits
from bbops_server.process.host.log import start_logging
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
from bbops_server.process.messages.request import MessageReader, pack_error, write_answer
from bbops_server.publish.build.build_input import BuildInput

TEST_SECONDS: Final = 120
"""The time limit for all tests of a project."""
MAX_DIAGNOSTICS: Final = 50
MAX_LETTERS: Final = 2_000
"""The longest message of a diagnostic."""

_SAMPLE: Final = {
    "project.yaml": "bbops: 1\nname: warm\n",
    "tables/notes.yaml": "columns:\n  id: { type: integer, primaryKey: true }\n",
    "functions/list.yaml": "steps:\n  - find: { table: notes }\n    as: found\n"
    "  - return: { value: '${ vars.found }' }\n",
    "endpoints/list.yaml": "method: GET\npath: /notes\nfunction: list\nauthentication: None\n"
    "description: All notes.\n",
    "tests/list.yaml": "endpoint: list\ncases:\n  - name: warm\n    expect: { status: 200 }\n",
}
"""Compiled before the first fork, to import the modules that every project needs."""


class ProjectTestRun:
    """A run of a project's tests; `report` is called before each case."""

    def __init__(
        self, built: Built, seconds: float = TEST_SECONDS,
        report: Callable[[Chosen], None] = lambda _: None,
    ) -> None:  # fmt: skip
        self.built, self.seconds, self._report = built, seconds, report
        self.cases = self.failed = 0
        self.diagnostics: list[Diagnostic] = []
        self._ended = False
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Task[None]] | None = None

    def run(self) -> None:
        """Run every case, until the time is up or `end` is called. Blocks its thread."""
        if self.built.project is None or not choose(self.built.project):
            return
        with Runner(self.built) as runner:
            asyncio.run(self._run(runner))

    def end(self) -> None:
        """Stop the run, from any thread."""
        self._ended = True
        if self._running is not None:
            loop, task = self._running
            with suppress(RuntimeError):  # the loop has just ended
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
            self._report(chosen)
            try:
                async with asyncio.timeout_at(until):
                    outcome = await runner.run(chosen)
            except TimeoutError:
                late_case = chosen.test.place("cases", chosen.at)
                self.diagnostics.append(late(late_case, self.seconds))
                return
            self.cases += 1
            self.failed += bool(outcome.wrong)
            self.diagnostics += as_diagnostics(outcome)


def late(place: Place, seconds: float) -> Diagnostic:
    """Return the diagnostic of the case that ran when the time was up."""
    message = f"the tests take longer than {seconds:g} seconds; this case was running"
    return Diagnostic(place, "test-failed", message, "make them faster, or remove some")


def warm() -> None:
    """Import what tests need, before the first fork."""
    built = build(MemoryTree(_SAMPLE))
    if built.project is None:
        raise ValueError(built.diagnostics)


def run(forked: ForkTestRun) -> None:
    """Run the tests of a project that the parent sends, and return the results."""
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


def _answer(frame: RequestFrame, reader: MessageReader[RunTests], control: socket.socket) -> Frame:
    try:
        request = reader.read(frame.request)
        return AnswerFrame(frame.number, write_answer(request, _test(request, control)))
    except Exception as error:  # noqa: BLE001 - the parent gets an answer to every request
        return pack_error(frame.number, error)


def _test(request: RunTests, control: socket.socket) -> CaseReport:
    def report(chosen: Chosen) -> None:
        place = chosen.test.place("cases", chosen.at)
        control.sendall(pack(EventFrame(encode(CaseStarted(place.file, place.line, place.column)))))

    test_run = ProjectTestRun(BuildInput.unpack(request).build(), request.seconds, report)
    test_run.run()
    shown = (
        replace(diagnostic, message=diagnostic.message[:MAX_LETTERS])
        for diagnostic in test_run.diagnostics[:MAX_DIAGNOSTICS]
    )
    return CaseReport(test_run.cases, test_run.failed, [*map(JsonDiagnostic.of, shown)])
