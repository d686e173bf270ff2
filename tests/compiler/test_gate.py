"""`tests.gate`: a commit whose tests fail does not go live, and says which and where."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bbops.compiler.compile.release import build
from bbops.source.git import store
from bbops.source.tree import MemoryTree
from bbops_server.publish.build.project_tests import ProjectTestRun
from tests.support.patience import wait_for
from tests.support.served import Served, git
from tests.support.slow_tests import slow_tests
from tests.support.small_project import FILES, hello

GATE = "tests: { gate: true }\n"
SLOW = "functions/slow.yaml"


def hello_test(version: int) -> dict[str, str]:
    case = f"  - name: it says its version\n    expect:\n      value: {{ version: {version} }}\n"
    return {"tests/hello.yaml": f"endpoint: hello\ncases:\n{case}"}


def gated(*changes: dict[str, str]) -> dict[str, str]:
    files = {**FILES, "project.yaml": FILES["project.yaml"] + GATE, **hello_test(1)}
    for change in changes:
        files |= change
    return files


def put(served: Served, *changes: dict[str, str]) -> str:
    """Commit changed files and return the commit's id."""
    for change in changes:
        for name, text in change.items():
            (served.repository / name).write_text(text)
    return served.commit()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    files = {name: text.encode() for name, text in gated().items()}
    store.init(tmp_path / "small", files, message="Start")
    with Served(tmp_path / "small", tmp_path / "home") as server:
        server.live()
        yield server


def test_a_commit_whose_tests_fail_is_not_served_and_says_where(served: Served) -> None:
    good = served.status()["release"]
    bad = put(served, hello(2))
    stalled = served.stalled()
    assert stalled["reason"] == "TestsFailed"
    (told,) = stalled["diagnostics"]
    assert (told["file"], told["line"], told["code"]) == ("tests/hello.yaml", 5, "test-failed")
    assert told["message"] == "'it says its version': value.version: expected 1, found 2"
    assert told["hint"] == "'bbops test hello' shows the steps it took"
    status = served.status()
    assert (status["attempted_revision"], status["release"]) == (f"main@sha1:{bad}", good)
    assert served.condition("Stalled")["reason"] == "TestsFailed"
    assert "tests/hello.yaml:5:" in served.condition("Stalled")["message"]
    assert served.api.get("/hello").json()["version"] == 1


@pytest.mark.long
def test_code_goes_live_with_the_test_that_asks_for_it(served: Served) -> None:
    put(served, hello(2))
    served.stalled()
    assert served.live_of(put(served, hello_test(2)))
    assert served.api.get("/hello").json()["version"] == 2
    assert served.condition("Stalled")["status"] is False


@pytest.mark.long
def test_a_failing_commit_never_blocks_the_one_that_takes_it_back(served: Served) -> None:
    put(served, hello(2))
    served.stalled()
    git(served.repository, "revert", "--no-edit", "HEAD")
    assert served.live_of(git(served.repository, "rev-parse", "HEAD"))


@pytest.mark.long
def test_without_the_gate_tests_hold_nothing_up(served: Served) -> None:
    assert served.live_of(put(served, hello(2), {"project.yaml": FILES["project.yaml"]}))


@pytest.mark.long
def test_tests_under_way_end_when_something_newer_comes(served: Served) -> None:
    put(served, slow_tests(200))
    wait_for(lambda: served.condition("Reconciling")["reason"] == "Testing")
    began = time.monotonic()
    (served.repository / "tests/slow.yaml").unlink()
    assert served.live_of(put(served, hello(2), hello_test(2)))
    assert time.monotonic() - began < 40


@pytest.mark.long
def test_what_is_served_answers_while_tests_run(served: Served) -> None:
    put(served, slow_tests(3))
    wait_for(lambda: served.condition("Reconciling")["reason"] == "Testing")
    assert served.api.get("/hello").json()["version"] == 1
    served.live()


@pytest.mark.long
def test_a_project_without_tests_passes_its_gate(served: Served) -> None:
    (served.repository / "tests/hello.yaml").unlink()
    assert served.live_of(put(served, hello(2)))


@pytest.mark.long
def test_a_server_that_stops_ends_its_tests_and_leaves_nothing_behind(tmp_path: Path) -> None:
    files = {name: text.encode() for name, text in gated(slow_tests(200)).items()}
    store.init(tmp_path / "small", files, message="Start")
    (scratch := tmp_path / "scratch").mkdir()
    with Served(tmp_path / "small", tmp_path / "home", env={"TMPDIR": str(scratch)}) as served:
        wait_for(lambda: list(scratch.glob("bbops-test-*")))
        began = time.monotonic()
        assert served.stop() == 0
    assert time.monotonic() - began < 40
    assert list(scratch.glob("bbops-test-*")) == []


# ---- bounds
def test_tests_that_take_too_long_are_told_at_the_case_that_ran() -> None:
    trial = ProjectTestRun(build(MemoryTree(gated(slow_tests(9)))), seconds=0.3)
    trial.run()
    (found,) = trial.diagnostics
    assert (found.place.file, found.code) == ("tests/slow.yaml", "test-failed")
    assert found.message == "the tests take longer than 0.3 seconds; this case was running"
    assert trial.cases == 1


def test_a_run_that_is_ended_says_nothing() -> None:
    trial = ProjectTestRun(build(MemoryTree(gated(slow_tests(200)))))
    running = threading.Thread(target=trial.run)
    running.start()
    wait_for(lambda: trial.cases)
    trial.end()
    running.join(10)
    assert not running.is_alive()
    assert trial.diagnostics == []


def test_a_run_that_is_ended_before_it_began_runs_nothing() -> None:
    trial = ProjectTestRun(build(MemoryTree(gated())))
    trial.end()
    trial.run()
    assert (trial.cases, trial.diagnostics) == (0, [])
