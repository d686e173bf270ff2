"""The environments of CI systems: variables and event files in, a CiRun out.

A new case is a new folder under tests/golden/ci; `pytest --update-golden` writes its expected.json.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from bbops.base.errors import BbopsError
from bbops.interfaces.ci.environments.github import MAX_EVENT_BYTES
from bbops.interfaces.ci.run import CiRun, read_run
from tests.conftest import ROOT

pytestmark = pytest.mark.quick

CASES = sorted((ROOT / "tests/golden/ci").iterdir())


def read_case(folder: Path) -> dict[str, Any]:
    env = json.loads((folder / "env.json").read_text())
    event = folder / "event.json"
    if event.exists():
        env["GITHUB_EVENT_PATH"] = str(event)
    values = asdict(read_run(env))
    paths = ("summary", "outputs", "scratch")
    return values | {name: values[name] and values[name].as_posix() for name in paths}


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_environment_is_read_as_expected(folder: Path, request: pytest.FixtureRequest) -> None:
    found = json.dumps(read_case(folder), indent=2) + "\n"
    expected = folder / "expected.json"
    if request.config.getoption("--update-golden"):
        expected.write_text(found)
    assert found == expected.read_text()


def test_options_replace_the_revisions_of_the_ci_system() -> None:
    env = json.loads((ROOT / "tests/golden/ci/gitlab-push/env.json").read_text())
    run = read_run(env, base="v1", commit="v2")
    assert (run.forge, run.base, run.commit) == ("gitlab", "v1", "v2")


@pytest.mark.parametrize("options", [{"base": "--all"}, {"commit": "-x"}])
def test_revision_that_begins_with_a_hyphen_is_rejected(options: dict[str, str]) -> None:
    with pytest.raises(BbopsError, match="is not a revision: it begins with '-'"):
        read_run({}, **options)


def test_branch_that_begins_with_a_hyphen_is_rejected() -> None:
    with pytest.raises(BbopsError, match="'--upload-pack=x' is not a revision"):
        read_run({"GITLAB_CI": "true", "CI_COMMIT_BRANCH": "--upload-pack=x"})


def github(path: Path) -> CiRun:
    return read_run({"GITHUB_ACTIONS": "true", "GITHUB_EVENT_PATH": str(path)})


def test_event_file_that_is_not_json_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "event.json").write_text("{")
    with pytest.raises(BbopsError, match="is not JSON"):
        github(tmp_path / "event.json")


def test_deeply_nested_event_file_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "event.json").write_text("[" * 200_000)
    with pytest.raises(BbopsError, match="is not JSON"):
        github(tmp_path / "event.json")


def test_large_event_file_is_rejected(tmp_path: Path) -> None:
    with (tmp_path / "event.json").open("wb") as file:
        file.truncate(MAX_EVENT_BYTES + 1)
    with pytest.raises(BbopsError, match="is too large"):
        github(tmp_path / "event.json")


def test_event_file_that_is_a_folder_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(BbopsError, match="cannot read"):
        github(tmp_path)


def test_missing_event_file_leaves_the_event_open(tmp_path: Path) -> None:
    assert github(tmp_path / "nothing").event == "manual"
