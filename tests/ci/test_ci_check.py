"""`bbops ci check`: validation, format and tests of a checkout, in the forms of CI systems."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.conftest import ROOT
from tests.support.actions_runner import read_commands
from tests.support.ci_jobs import Forge, Job, actions_job, git, pull_request_job
from tests.support.unsupported import forget, hide_agents

FILES = {
    "project.yaml": "bbops: 1\nname: small\n",
    "functions/hello.yaml": (
        "input: { name: string }\nsteps:\n"
        "  - return: { value: { text: \"${ 'hello ' + input.name }\" } }\n"
    ),
    "endpoints/hello.yaml": (
        "method: POST\npath: /hello\nfunction: hello\nauthentication: None\n"
        "description: Greets.\n"
    ),
    "tests/hello.yaml": (
        "endpoint: hello\ncases:\n"
        "  - name: a name is greeted\n    input: { name: Ada }\n"
        "    expect: { value: { text: hello Ada } }\n"
    ),
}  # fmt: skip
FAILING = FILES["tests/hello.yaml"].replace("hello Ada }", "hello Bob }")
UNFORMATTED = FILES["project.yaml"].replace("name: small", "name:   small")
INVALID = "method: GET\n"


def make_forge(folder: Path, under: str = "", **files: str) -> Forge:
    forge = Forge(folder / "forge", under)
    forge.create(FILES | files)
    return forge


def check(folder: Path, *arguments: str, **files: str) -> tuple[Job, int, str]:
    """Run the check in a folder with some files replaced, as a job of GitHub Actions."""
    job = actions_job(folder, "push")
    for path, text in (
        FILES | {name.replace("__", "/"): text for name, text in files.items()}
    ).items():
        (job.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (job.folder / path).write_text(text)
    done = job.run("check", *arguments)
    return job, done.exit_code, done.output


def test_project_without_findings_exits_with_0(tmp_path: Path) -> None:
    job, code, output = check(tmp_path / "job")
    assert code == 0, output
    assert "no problems in 4 resources, 1 test passed" in output
    assert read_commands(output) == []
    assert job.outputs == {
        "valid": "true", "errors": "0", "warnings": "0", "tests": "1", "failed": "0",
        "unformatted": "0",
    }  # fmt: skip
    assert job.summary == "### Check: no problems in 4 resources, 1 test passed\n\n"


def test_error_becomes_an_annotation_and_a_row(tmp_path: Path) -> None:
    job, code, output = check(tmp_path / "job", **{"endpoints/hello.yaml": INVALID})
    assert code == 1
    (command, *_) = read_commands(output)
    assert (command.name, command.properties["file"]) == ("error", "endpoints/hello.yaml")
    assert command.properties["title"] == "missing-key"
    assert "| **error** | `endpoints/hello.yaml:1` |" in job.summary
    assert (job.outputs["tests"], int(job.outputs["errors"]) > 0) == ("0", True)
    assert job.outputs["valid"] == "false"
    assert "tests not run" in output


def test_failed_test_is_shown_at_its_line(tmp_path: Path) -> None:
    job, code, output = check(tmp_path / "job", **{"tests/hello.yaml": FAILING})
    assert code == 1
    (command,) = read_commands(output)
    assert (command.properties["file"], command.properties["title"]) == (
        "tests/hello.yaml", "test-failed",
    )  # fmt: skip
    assert f"`tests/hello.yaml:{command.properties['line']}`" in job.summary
    assert output.count("1 of 1 test failed") == 1
    assert (job.outputs["failed"], job.outputs["tests"]) == ("1", "1")
    assert job.outputs["valid"] == "true"


def test_file_to_format_is_a_finding(tmp_path: Path) -> None:
    job, code, output = check(tmp_path / "job", **{"project.yaml": UNFORMATTED})
    assert code == 1
    assert "would format project.yaml" in output
    assert [command.properties["title"] for command in read_commands(output)] == ["unformatted"]
    assert job.outputs["unformatted"] == "1"
    assert (job.folder / "project.yaml").read_text() == UNFORMATTED


def test_tests_can_be_left_out(tmp_path: Path) -> None:
    _, code, output = check(tmp_path / "job", "--no-tests", **{"tests/hello.yaml": FAILING})
    assert (code, "tests not run" in output) == (0, True)


def test_many_errors_name_the_sarif_file(tmp_path: Path) -> None:
    many = {f"endpoints/e{number}.yaml": INVALID for number in range(12)}
    _, _, output = check(tmp_path / "one", **many)
    assert len(read_commands(output)) == 10
    assert "2 errors without an annotation; '--sarif FILE' writes all" in output
    _, _, output = check(tmp_path / "two", "--sarif", str(tmp_path / "a.sarif"), **many)
    assert "without an annotation" not in output


def test_paths_are_relative_to_the_repository(tmp_path: Path) -> None:
    forge = make_forge(tmp_path, "services/shop", **{"endpoints/hello.yaml": INVALID})
    forge.branch("topic")
    forge.commit({"README.md": "More\n"})
    job = pull_request_job(tmp_path / "job", forge, "topic")
    sarif, quality = tmp_path / "a.sarif", tmp_path / "quality.json"
    done = job.run("check", "--sarif", str(sarif), "--code-quality", str(quality))
    path = "services/shop/endpoints/hello.yaml"
    assert f"{path}:1:1: error:" in done.stdout
    assert read_commands(done.stdout)[0].properties["file"] == path
    location = json.loads(sarif.read_text())["runs"][0]["results"][0]["locations"][0]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == path
    assert json.loads(quality.read_text())[0]["location"]["path"] == path
    assert f"`{path}:1`" in job.summary


def test_shallow_checkout_of_a_fork_is_enough(tmp_path: Path) -> None:
    forge = make_forge(tmp_path)
    forge.branch("topic")
    forge.commit({"README.md": "More\n"})
    job = pull_request_job(tmp_path / "job", forge, "topic", depth=1, source="bob/small")
    git(job.folder, "remote", "remove", "origin")
    assert job.run("check").exit_code == 0


AGENTS = ROOT / "tests/golden/check/ok-agents/project"


@pytest.fixture
def without_agents(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take away what runs agents, as if no version had done it yet."""
    hide_agents(monkeypatch)
    yield
    monkeypatch.undo()
    forget()


@pytest.mark.usefixtures("without_agents")
def test_unsupported_resource_of_the_target_is_a_warning(tmp_path: Path) -> None:
    files = {
        path.relative_to(AGENTS).as_posix(): path.read_text() for path in AGENTS.rglob("*.yaml")
    }
    worker = files.pop("agents/worker.yaml")
    forge = Forge(tmp_path / "forge", main="trunk")
    forge.create(files)
    forge.branch("topic")
    forge.commit({"README.md": "More\n"})
    job = pull_request_job(tmp_path / "one", forge, "topic", depth=2)
    job.run("check")
    assert (job.outputs["errors"], job.outputs["warnings"]) == ("0", "1")
    forge.commit({"agents/worker.yaml": worker})
    job = pull_request_job(tmp_path / "two", forge, "topic")
    job.run("check")
    assert (job.outputs["errors"], job.outputs["warnings"]) == ("1", "1")


def test_junit_has_each_case(tmp_path: Path) -> None:
    check(tmp_path / "job", "--junit", str(tmp_path / "a.xml"), **{"tests/hello.yaml": FAILING})
    suite = ET.parse(tmp_path / "a.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")


def test_junit_is_written_without_tests(tmp_path: Path) -> None:
    check(tmp_path / "job", "--junit", str(tmp_path / "a.xml"), "--no-tests")
    assert ET.parse(tmp_path / "a.xml").getroot().tag == "testsuites"


def test_json_is_the_result_that_is_kept(tmp_path: Path) -> None:
    job, code, output = check(tmp_path / "job", "--json", **{"tests/hello.yaml": FAILING})
    found = json.loads(output)
    assert (code, found["failed"], found["findings"][0]["code"]) == (1, 1, "test-failed")
    assert found == json.loads(Path(job.env["RUNNER_TEMP"], "bbops-ci/root/check.json").read_text())


@pytest.mark.parametrize("name", [".bbops", ".bbops/ci"])
def test_results_are_not_written_through_a_symlink(tmp_path: Path, name: str) -> None:
    job = actions_job(tmp_path / "job", "push", GITHUB_ACTIONS="", RUNNER_TEMP="")
    (job.folder / "project.yaml").write_text(FILES["project.yaml"])
    (tmp_path / "home" / "ci").mkdir(parents=True)
    kept = [tmp_path / "home" / "check.json", tmp_path / "home" / "ci" / "check.json"]
    for file in kept:
        file.write_text("mine")
    link = job.folder / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(tmp_path / "home")
    done = job.run("check")
    assert (done.exit_code, "is a symlink, expected a folder" in done.stderr) == (2, True)
    assert [file.read_text() for file in kept] == ["mine", "mine"]


def test_results_folder_can_be_chosen(tmp_path: Path) -> None:
    check(tmp_path / "job", "--results", str(tmp_path / "kept"))
    assert (tmp_path / "kept/check.json").is_file()


def test_texts_of_a_project_give_no_commands(tmp_path: Path) -> None:
    hostile = INVALID + "'::error::x ##[error]y': 1\n? |\n  ::stop-commands::z\n: 1\n"
    job, _, output = check(tmp_path / "job", **{"endpoints/hello.yaml": hostile})
    commands = read_commands(output)
    assert {command.name for command in commands} == {"error"}
    assert all(command.properties["file"] == "endpoints/hello.yaml" for command in commands)
    assert "<" not in job.summary.replace("<br>", "")


def test_json_of_hostile_texts_gives_no_commands(tmp_path: Path) -> None:
    hostile = INVALID + "'##[error]y': 1\n"
    _, _, output = check(tmp_path / "job", "--json", **{"endpoints/hello.yaml": hostile})
    assert read_commands(output) == []
    assert any("##[error]y" in found["message"] for found in json.loads(output)["findings"])


def test_project_for_postgresql_names_the_option(tmp_path: Path) -> None:
    files = {"project.yaml": FILES["project.yaml"] + "database: { engine: postgres }\n"}
    _, code, output = check(tmp_path / "one", **files)
    assert (code, "--database-url URL, or use --no-tests" in output) == (2, True)
    _, code, output = check(tmp_path / "two", "--no-tests", **files)
    assert "no problems" in output


def test_file_that_cannot_be_written_exits_with_2(tmp_path: Path) -> None:
    _, code, output = check(tmp_path / "job", "--sarif", str(tmp_path / "missing/a.sarif"))
    assert (code, "create the folder" in output) == (2, True)


def test_folder_without_a_project_exits_with_2(tmp_path: Path) -> None:
    done = Job(tmp_path).run("check")
    assert (done.exit_code, "project.yaml is missing" in done.stderr) == (2, True)


@pytest.mark.parametrize("command", ["check", "plan"])
def test_process_prints_no_escapes_into_a_pipe(tmp_path: Path, command: str) -> None:
    forge = make_forge(tmp_path, **{"endpoints/hello.yaml": INVALID})
    done = subprocess.run(
        [sys.executable, "-m", "bbops", "ci", command], cwd=forge.root, capture_output=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert b"\x1b" not in done.stdout + done.stderr
    assert b"Traceback" not in done.stderr
