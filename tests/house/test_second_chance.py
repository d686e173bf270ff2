"""`.ci/second_chance.py` on small folders of real tests, run by real pytest."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.patience import PATIENCE_SECONDS, wait_for

PASSING = "def test_passing(): pass\n"
FAILING = "def test_failing(): assert False, 'always'\n"
FLAKY = """
from pathlib import Path
def test_flaky():
    marker = Path(__file__).with_name("seen")
    seen = marker.exists()
    marker.touch()
    assert seen
"""
KILLED_ONCE = """
import os
from pathlib import Path
def test_killed():
    marker = Path(__file__).with_name("seen")
    if not marker.exists():
        marker.touch()
        os._exit(1)
"""
HANGING = "import threading\ndef test_hanging(): threading.Event().wait()\n"
WRITES_ITS_PID = """
import os
from pathlib import Path
Path("pid").write_text(str(os.getpid()))
"""
PLUGINS = {
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTEST_ADDOPTS": "-p xdist -p pytest_timeout",
}


class Gate:
    """A folder of tests and the command that runs them with second chances."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.add("conftest", 'pytest_plugins = ["tests.support.outcomes"]\n')
        folder.joinpath("pytest.ini").write_text("[pytest]\n")
        program = folder / "pytest"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pytest "$@"\n')
        program.chmod(0o755)

    def add(self, name: str, text: str) -> None:
        self.folder.joinpath(f"{name}.py").write_text(text)

    def run(self, *options: str, seconds: float = PATIENCE_SECONDS) -> tuple[int, str]:
        """Return the exit status and the output of a run that may take `seconds`."""
        script = self.start(*options, seconds=seconds)
        output, _ = script.communicate()
        return script.returncode, output

    def start(self, *options: str, seconds: float = PATIENCE_SECONDS) -> subprocess.Popen[str]:
        """Start a run that may take `seconds`."""
        deadline, program = str(time.time() + seconds), str(self.folder / "pytest")
        script = [sys.executable, ROOT / ".ci/second_chance.py", "--deadline", deadline]
        return subprocess.Popen(
            [*script, "--pytest", program, "--tally", "tally", program, "-q", *options],
            cwd=self.folder, env={**os.environ, **PLUGINS, "PYTHONPATH": str(ROOT)}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def tally(self) -> str:
        return self.folder.joinpath("tally").read_text()


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path)


def test_passing_tests_run_once(gate: Gate) -> None:
    gate.add("test_passing", PASSING)
    status, output = gate.run()
    assert status == 0
    assert "second chance" not in output
    assert gate.tally() == "1 0\n"


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_a_test_that_fails_once_passes_and_is_named(gate: Gate, workers: tuple[str, ...]) -> None:
    gate.add("test_passing", PASSING)
    gate.add("test_flaky", FLAKY)
    status, output = gate.run(*workers)
    assert status == 0
    assert "flaky: \n  test_flaky.py::test_flaky\n" in output
    assert "2 passed" not in output, "only the failed test runs again"
    assert gate.tally() == "2 0\n"


def test_a_broken_test_fails_after_two_more_runs(gate: Gate) -> None:
    gate.add("test_passing", PASSING)
    gate.add("test_failing", FAILING)
    status, output = gate.run()
    assert status == 1
    assert "second chance 2 of 2" in output
    assert "failed: \n  test_failing.py::test_failing\n" in output
    assert gate.tally() == "1 1\n"


def test_more_than_ten_failures_get_no_second_chance(gate: Gate) -> None:
    failing = "".join(f"def test_{number}(): assert False\n" for number in range(11))
    gate.add("test_failing", failing)
    status, output = gate.run()
    assert status == 1
    assert "11 tests failed; at most 10 run again" in output
    assert "second chance" not in output


def test_a_file_that_cannot_be_imported_fails(gate: Gate) -> None:
    gate.add("test_passing", PASSING)
    gate.add("test_broken", "import nothing_of_this_name\n")
    status, output = gate.run()
    assert status == 1
    assert "not collected: \n  test_broken.py" in output


def test_a_killed_worker_fails_although_its_test_would_pass_again(gate: Gate) -> None:
    gate.add("test_killed", KILLED_ONCE)
    gate.add("test_passing", PASSING)
    status, output = gate.run("-n", "2")
    assert status == 1
    assert "1 of the worker processes died" in output


def test_a_run_that_ends_early_fails(gate: Gate) -> None:
    gate.add("test_failing", FAILING + PASSING)
    status, output = gate.run("-x")
    assert status == 1
    assert "1 tests have no result: \n  test_failing.py::test_passing" in output


def test_a_hanging_test_fails_and_its_stack_is_printed(gate: Gate) -> None:
    gate.add("test_hanging", HANGING)
    gate.folder.joinpath("pytest.ini").write_text("[pytest]\ntimeout = 1\n")
    status, output = gate.run()
    assert status == 1
    assert "threading.Event().wait()" in output
    assert "failed: \n  test_hanging.py::test_hanging\n" in output


def test_a_run_ends_at_its_deadline(gate: Gate) -> None:
    gate.add("test_hanging", HANGING)
    status, output = gate.run(seconds=5)
    assert status == 124
    assert "not finished in time" in output


def test_a_terminated_run_kills_its_tests(gate: Gate) -> None:
    gate.add("test_hanging", WRITES_ITS_PID + HANGING)
    pid = gate.folder / "pid"
    script = gate.start()
    wait_for(lambda: pid.exists() and pid.read_text())
    script.terminate()
    script.communicate()
    assert script.returncode == 128 + signal.SIGTERM
    wait_for(lambda: not Path(f"/proc/{pid.read_text()}").exists())


def test_a_run_that_was_ended_names_what_was_running(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / ".ci")
    run = import_module("second_chance").TestRun(124)
    for line in ({"started": "a"}, {"started": "b"}, {"finished": "a"}):
        run.add(line)
    assert run.defect() == "not finished in time; running: \n  b"


def test_a_command_without_pytest_fails(gate: Gate) -> None:
    gate.folder.joinpath("pytest").write_text("#!/bin/sh\nexit 0\n")
    status, output = gate.run()
    assert status == 1
    assert "no pytest finished (exit status 0)" in output


def test_a_stage_without_tests_passes_in_a_long_run(gate: Gate) -> None:
    gate.add("test_passing", PASSING)
    status, _ = gate.run("-k", "nothing")
    assert status == 0
