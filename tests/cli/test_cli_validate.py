"""`bbops validate`: exit codes, forms, and what it must not load."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
from click.testing import CliRunner, Result

from bbops.interfaces.cli._check_cache import MAX_RESULTS
from bbops.interfaces.cli._root_group import RootGroup
from tests.conftest import ROOT
from tests.support.command_line import bbops, environment
from tests.support.served import git

MISTAKES = (
    ("endpoints/notes/list.yaml", "function: notes/list", "function: notes/lst"),
    ("functions/auth/login.yaml", "where:", "wher:"),
    ("functions/notes/create.yaml", "table: notes", "table: note"),
)
PLACES = {
    ("endpoints/notes/list.yaml", "unknown-function"),
    ("functions/auth/login.yaml", "unknown-key"),
    ("functions/notes/create.yaml", "unknown-table"),
}


def run(*arguments: object) -> Result:
    return CliRunner().invoke(RootGroup("bbops"), list(map(str, arguments)))


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ROOT / "project-template", tmp_path / "my project"))


@pytest.fixture
def bad(good: Path) -> Path:
    for name, old, new in MISTAKES:
        file = good / name
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))
    return good


def test_a_good_project_says_how_much_was_checked(good: Path) -> None:
    result = run("validate", good)
    count = len(list(good.glob("**/*.yaml")))
    assert (result.exit_code, result.stdout) == (0, f"no problems in {count} resources\n")


def test_a_good_project_has_an_empty_list(good: Path) -> None:
    result = run("validate", good, "--format", "json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {"diagnostics": []}
    assert run("validate", good, "--json").stdout == result.stdout


def test_every_mistake_is_printed_with_place_code_and_hint(bad: Path) -> None:
    result = run("validate", bad)
    assert result.exit_code == 1
    assert (
        "functions/auth/login.yaml:10:7: error: unknown key 'wher' [unknown-key]\n"
        "    hint: did you mean 'where'?\n"
    ) in result.stdout
    assert {(line.split(":")[0], line[:-1].rpartition("[")[2]) for line in heads(result)} >= PLACES
    assert result.stdout.endswith(f"\n{len(heads(result))} errors\n")
    assert "\x1b" not in result.stdout


def heads(result: Result) -> list[str]:
    return [line for line in result.stdout.splitlines() if ": error: " in line]


def test_json_has_the_same_findings(bad: Path) -> None:
    result = run("validate", bad, "--format", "json")
    found = json.loads(result.stdout)["diagnostics"]
    assert result.exit_code == 1
    assert {(one["file"], one["code"]) for one in found} >= PLACES
    keys = {"severity", "code", "file", "line", "column", "message", "hint"}
    assert all(set(one) == keys for one in found)


def test_github_annotations_name_files_from_the_current_folder(
    bad: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(bad.parent)
    result = run("validate", "my project", "--format", "github")
    assert result.exit_code == 1
    assert (
        "::error file=my project/functions/auth/login.yaml,line=10,col=7,title=unknown-key::"
        "unknown key 'wher'%0Adid you mean 'where'?\n"
    ) in result.stdout
    assert all(line.startswith("::error ") for line in result.stdout.splitlines())


def test_sarif_locations_are_relative_uris(bad: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bad.parent)
    log = json.loads(run("validate", "my project", "--format", "sarif").stdout)
    assert log["version"] == "2.1.0"
    (one,) = log["runs"]
    rules = one["tool"]["driver"]["rules"]
    for found in one["results"]:
        assert rules[found["ruleIndex"]]["id"] == found["ruleId"]
        (location,) = found["locations"]
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        assert " " not in uri
        assert Path(unquote(uri)).is_file()


def test_text_names_files_from_the_current_folder(
    bad: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(bad.parent)
    result = run("validate", "my project")
    assert "my project/functions/auth/login.yaml:10:7: error:" in result.stdout
    monkeypatch.chdir(bad)
    assert "\nfunctions/auth/login.yaml:10:7: error:" in run("validate").stdout


def test_warnings_alone_pass(good: Path) -> None:
    stray = good / "endpoint/notes.yaml"
    stray.parent.mkdir()
    stray.write_text("a: 1\n")
    assert run("validate", good).exit_code == 1
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "Start")):
        git(good, *command)  # what was there before is a warning
    result = run("validate", good)
    assert result.exit_code == 0
    assert result.stdout.endswith("\n1 warning\n")


def test_a_folder_that_is_not_there_is_an_error_of_its_own(tmp_path: Path) -> None:
    result = run("validate", tmp_path / "x")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"error: folder '{tmp_path / 'x'}' does not exist\n"


def test_a_file_is_not_a_project(good: Path) -> None:
    result = run("validate", good / "project.yaml")
    assert result.exit_code == 2
    assert "is a file, expected the folder that holds project.yaml" in result.stderr


def test_a_folder_without_a_project_tells_how_to_make_one(tmp_path: Path) -> None:
    result = run("validate", tmp_path)
    assert result.exit_code == 2
    assert result.stderr == (
        f"error: project.yaml is missing in '{tmp_path}'\n"
        "    hint: create a project with 'bbops init DIR'\n"
    )


def test_a_folder_inside_a_project_names_the_project(good: Path) -> None:
    result = run("validate", good / "functions")
    assert result.exit_code == 2
    assert f"hint: the project around it is '{good}'" in result.stderr


def test_a_wrong_ending_is_named(good: Path) -> None:
    (good / "project.yaml").rename(good / "project.yml")
    assert "hint: rename 'project.yml' to 'project.yaml'" in run("validate", good).stderr


@pytest.mark.long
def test_validate_loads_no_git_http_or_sql(good: Path) -> None:
    program = (
        "import sys; from bbops.interfaces.cli import main\n"
        "try: main()\n"
        "except SystemExit: print('loaded', *sorted(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "validate", str(good)],
        env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = done.stdout.rpartition("loaded ")[2].split()
    assert "bbops.compiler.check" in loaded
    assert {"git", "httpx", "litestar", "sqlalchemy", "rich"}.isdisjoint(loaded)


@pytest.mark.long
def test_colour_is_for_terminals_and_never_with_no_color(bad: Path) -> None:
    forced = bbops("validate", str(bad), env=environment(FORCE_COLOR="1"))
    refused = bbops("validate", str(bad), env=environment(FORCE_COLOR="1", NO_COLOR="1"))
    assert "\x1b[1;31merror:\x1b[0m" in forced.stdout
    assert "\x1b" not in refused.stdout
    assert (forced.returncode, refused.returncode) == (1, 1)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of what is remembered, which is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME" if os.name != "nt" else "LOCALAPPDATA", str(tmp_path / "c"))
    return tmp_path / "c/bbops/checks"


def test_what_has_not_changed_is_not_checked_again(bad: Path, kept: Path) -> None:
    first = run("validate", bad)
    (file,) = kept.iterdir()
    assert run("validate", bad).stdout == first.stdout
    file.write_text(file.read_text().replace("'note'", "'what was kept'"))
    again = run("validate", bad)
    assert again.exit_code == 1
    assert "what was kept" in again.stdout


def test_what_has_changed_is_checked_again(good: Path, kept: Path) -> None:
    assert run("validate", good).exit_code == 0
    file = good / "endpoints/notes/list.yaml"
    text = file.read_text()
    file.write_text(text.replace("notes/list", "notes/lisp"))
    assert run("validate", good).exit_code == 1
    file.write_text(text)
    assert run("validate", good).exit_code == 0
    assert len([*kept.iterdir()]) == 2


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"size": 1, "diagnostics": [{}]}', "\x00"])
def test_what_was_kept_badly_is_checked_again(good: Path, kept: Path, text: str) -> None:
    first = run("validate", good)
    (file,) = kept.iterdir()
    file.write_text(text)
    assert run("validate", good).stdout == first.stdout


def test_only_the_newest_results_are_kept(good: Path, kept: Path) -> None:
    kept.mkdir(parents=True)
    for number in range(MAX_RESULTS + 5):
        file = kept / str(number)
        file.write_text("{}")
        os.utime(file, (number, number))
    assert run("validate", good).exit_code == 0
    names = {file.name for file in kept.iterdir()}
    assert len(names) == MAX_RESULTS
    assert not {"0", "1", "5"} & names


def test_a_cache_that_cannot_be_written_is_no_mistake(good: Path, kept: Path) -> None:
    kept.parent.mkdir(parents=True)
    kept.write_text("a file where the folder would be")
    assert run("validate", good).exit_code == 0
