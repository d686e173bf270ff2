"""Tests of a project are code that nobody has reviewed: each run is a process that is ended."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bbops.source.tree import MemoryTree
from bbops_server.publish.build.build_input import BuildInput
from bbops_server.publish.build.gate import GateRun, ReleaseGate
from tests.support.draft_processes import (
    TESTS,
    command,
    environment,
    forked,
    niceness,
    parent,
    started,
)
from tests.support.hostile_drafts import COMPUTES, make
from tests.support.patience import wait_for
from tests.support.served import Served
from tests.support.small_project import FILES, endpoint

MEMORY = 'steps:\n  - sql: { statement: "SELECT hex(zeroblob(400000000)) AS x" }\n    as: rows\n'
RETURN = "  - return: { value: 1 }\n"
GATED = FILES["project.yaml"] + "tests: { gate: true }\n"
SECRET = "a-live-secret-that-no-test-may-see"


def files(steps: str, cases: int = 1) -> dict[str, str]:
    told = "".join(f"  - name: case {at}\n    expect: {{ status: 200 }}\n" for at in range(cases))
    return {
        **FILES,
        "functions/bad.yaml": steps + RETURN,
        "endpoints/bad.yaml": endpoint("GET", "/bad", "bad"),
        "tests/bad.yaml": f"endpoint: bad\ncases:\n{told}",
    }


def handed(steps: str, cases: int = 1) -> BuildInput:
    return BuildInput.take(MemoryTree(files(steps, cases)), "sqlite", ())


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (folder := tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def with_gate(work: Callable[[ReleaseGate], Awaitable[Any]], seconds: float = 120) -> Any:
    async def do() -> Any:
        gate = ReleaseGate(seconds)
        try:
            return await work(gate)
        finally:
            await gate.close()

    return asyncio.run(do())


@pytest.mark.long
def test_tests_that_pass_are_counted(scratch: Path) -> None:
    found = with_gate(lambda gate: gate.run(Path("a"), handed("steps:\n", 3)))
    assert (found.cases, found.failed, found.diagnostics) == (3, 0, [])
    assert list(scratch.iterdir()) == []


@pytest.mark.long
def test_tests_that_never_end_say_so_themselves(scratch: Path) -> None:
    found = with_gate(lambda gate: gate.run(Path("a"), handed(COMPUTES)), seconds=1)
    (told,) = found.diagnostics
    assert (told.file, told.code) == ("tests/bad.yaml", "test-failed")
    assert told.message.startswith("the tests take longer than 1 seconds")
    assert list(scratch.iterdir()) == []


async def under_way(gate: ReleaseGate) -> GateRun:
    """Return the run of `a` once it has come to its case."""
    while (run := gate._runs.get(Path("a"))) is None or run.at.file != "tests/bad.yaml":
        await asyncio.sleep(0.01)
    return run


@pytest.mark.long
def test_a_process_that_hangs_is_ended_by_the_clock_of_its_parent(scratch: Path) -> None:
    async def work(gate: ReleaseGate) -> Any:
        running = asyncio.create_task(gate.run(Path("a"), handed(COMPUTES)))
        run = await under_way(gate)
        assert run.child is not None
        os.kill(run.child.pid, signal.SIGSTOP)
        return await running

    (told,) = with_gate(work, seconds=1).diagnostics
    assert (told.file, told.line) == ("tests/bad.yaml", 3)
    assert told.message.startswith("the tests take longer than 1 seconds")
    assert list(scratch.iterdir()) == []


@pytest.mark.long
def test_tests_that_take_too_much_memory_fail_alone(scratch: Path) -> None:
    async def work(gate: ReleaseGate) -> tuple[Any, Any]:
        greedy, modest = (
            gate.run(Path("a"), handed(MEMORY)),
            gate.run(Path("b"), handed("steps:\n")),
        )
        return await asyncio.gather(greedy, modest)

    greedy, modest = with_gate(work)
    assert (greedy.failed, modest.failed) == (1, 0)


@pytest.mark.long
def test_a_run_whose_process_is_killed_says_which_case_ran(scratch: Path) -> None:
    async def work(gate: ReleaseGate) -> Any:
        running = asyncio.create_task(gate.run(Path("a"), handed(COMPUTES)))
        run = await under_way(gate)
        assert run.child is not None
        os.kill(run.child.pid, signal.SIGKILL)
        return await running

    (told,) = with_gate(work).diagnostics
    assert (told.file, told.line) == ("tests/bad.yaml", 3)
    assert "exceeded their memory or time" in told.message


def test_a_run_that_is_ended_says_nothing_and_leaves_nothing(scratch: Path) -> None:
    async def work(gate: ReleaseGate) -> Any:
        running = asyncio.create_task(gate.run(Path("a"), handed(COMPUTES)))
        while not list(scratch.glob("bbops-test-*/bbops-test-*")):
            await asyncio.sleep(0.01)
        gate.end(Path("a"))
        return await running

    assert with_gate(work).diagnostics == []
    assert list(scratch.iterdir()) == []


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(make(tmp_path / "small"), tmp_path / "home", env={"SECRET": SECRET}) as server:
        server.live()
        yield server


@pytest.mark.long
def test_the_build_process_runs_no_test_itself(served: Served) -> None:
    for name, text in (files(COMPUTES) | {"project.yaml": GATED}).items():
        path = served.repository / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    served.commit("Compute for ever")
    (pid,) = wait_for(lambda: forked(served, TESTS))
    assert "bbops_server.publish.build.zygote" in command(pid)
    assert niceness(pid) >= 10
    assert SECRET not in environment(pid)
    (build,) = started(served, "bbops_server.publish.build ")
    assert parent(pid) != build
    assert served.api.get("/hello").json()["version"] == 1
    (served.repository / "tests/bad.yaml").unlink()
    served.edit("functions/hello.yaml", "version: 1", "version: 2")
    assert served.live_of(served.commit("Go on"))
    assert forked(served, TESTS) == []
