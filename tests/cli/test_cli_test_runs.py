"""How `bbops test` is run: some cases, as JSON, by pytest, again after each change."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree.ElementTree import parse

import pytest

from tests.conftest import sample
from tests.support.cases import RIGHT, WRONG, bbops_test, project, write
from tests.support.command_line import environment


def test_a_pattern_chooses_cases(tmp_path: Path) -> None:
    folder = project(tmp_path, RIGHT + WRONG)
    assert bbops_test(folder, "one::a note").exit_code == 0
    assert bbops_test(folder, "tests/one.yaml").exit_code == 1
    assert bbops_test(folder, "*wrong*").stdout.splitlines()[-1].startswith("1 failed, 0 passed")
    none = bbops_test(folder, "nothing")
    assert (none.exit_code, none.stdout) == (2, "")
    assert "no case matches 'nothing'" in none.stderr


def test_json_and_junit_say_the_same(tmp_path: Path) -> None:
    folder = project(tmp_path / "p", RIGHT + WRONG)
    result = bbops_test(folder, "--json", "--junit", tmp_path / "junit.xml")
    cases = json.loads(result.stdout)["cases"]
    assert [(one["case"], one["passed"]) for one in cases] == [
        ("a note is made", True), ("many things are wrong", False),
    ]  # fmt: skip
    assert len(cases[1]["wrong"]) == 6
    assert cases[1]["steps"][0]["step"] == "insert"
    (suite,) = parse(tmp_path / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [len(case) for case in suite] == [0, 1]


def test_a_project_with_mistakes_is_not_run(tmp_path: Path) -> None:
    folder = project(tmp_path, RIGHT.replace("title: Milk }\n", "titel: Milk }\n", 1))
    (folder / "functions/board.yaml").write_text("steps:\n  - fnd: {}\n")
    result = bbops_test(folder)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "unknown step 'fnd'" in result.stderr


def test_a_project_without_tests_says_so(tmp_path: Path) -> None:
    folder = write(tmp_path, sample())
    (folder / "tests/double.yaml").unlink()
    result = bbops_test(folder)
    assert (result.exit_code, result.stdout[:18]) == (0, "there are no tests")


@pytest.mark.long
def test_pytest_runs_the_same_cases(tmp_path: Path) -> None:
    folder = project(tmp_path, RIGHT + WRONG)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
         "-p", "no:hypothesispytest"],
        cwd=folder, env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 1 passed" in done.stdout
    assert "tests/one.yaml:14: expected status 201, found 409: no booms" in done.stdout


@pytest.mark.long
def test_watching_runs_again_after_a_change(tmp_path: Path) -> None:
    folder = project(tmp_path, RIGHT)
    # what a shell starts in the background ignores Ctrl-C, and so do its children
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "bbops", "test", "--watch", "--path", str(folder)],
        env=environment(), stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    signal.signal(signal.SIGINT, before)
    try:
        assert process.stdout is not None
        assert "1 passed" in "".join(process.stdout.readline() for _ in range(2))
        test = folder / "tests/one.yaml"
        test.write_text(test.read_text().replace("status: 201", "status: 200"))
        assert any("expected status 200, found 201" in line for line in process.stdout)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
    finally:
        process.kill()
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]
