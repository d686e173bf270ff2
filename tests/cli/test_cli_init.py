"""`bbops init`: what it makes, what it refuses, what it says."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from bbops import __version__
from bbops.interfaces.cli._root_group import RootGroup
from bbops.interfaces.cli.init import rename, slug
from bbops.source.yaml.document import load
from tests.conftest import ROOT
from tests.support.command_line import bbops, environment


def run(*arguments: object) -> Result:
    return CliRunner().invoke(RootGroup("bbops"), list(map(str, arguments)))


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_new_project_is_one_clean_commit_on_main(tmp_path: Path) -> None:
    folder = tmp_path / "not there yet" / "my-shop"
    result = run("init", folder)
    assert result.exit_code == 0, result.stderr
    assert git(folder, "symbolic-ref", "--short", "HEAD") == "main"
    assert git(folder, "rev-list", "--count", "HEAD") == "1"
    assert git(folder, "status", "--porcelain") == ""


def test_a_new_project_holds_exactly_the_template(tmp_path: Path) -> None:
    run("init", tmp_path / "new")
    expected = git(ROOT / "project-template", "ls-files").splitlines()
    expected.remove(".gitlab-ci.yml")
    assert git(tmp_path / "new", "ls-files").splitlines() == expected
    assert ".gitignore" in expected


def test_only_the_name_differs_from_the_template(tmp_path: Path) -> None:
    run("init", tmp_path / "my-shop")
    made = (tmp_path / "my-shop/project.yaml").read_text().splitlines()
    template = (ROOT / "project-template/project.yaml").read_text().splitlines()
    assert [pair for pair in zip(template, made, strict=True) if pair[0] != pair[1]] == [
        ("name: my-backend", "name: my-shop")
    ]


def test_a_new_project_is_valid(tmp_path: Path) -> None:
    run("init", tmp_path / "My Shop")
    assert run("validate", tmp_path / "My Shop").stdout.startswith("no problems in ")


# ---- --forge
@pytest.mark.parametrize("kind", [[], ["--empty"]], ids=["template", "empty"])
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], [".github/workflows/bbops.yml"]),
        (["--forge", "github"], [".github/workflows/bbops.yml"]),
        (["--forge", "gitlab"], [".gitlab-ci.yml"]),
        (["--forge", "none"], []),
    ],
    ids=["default", "github", "gitlab", "none"],
)  # fmt: skip
def test_a_new_project_has_the_files_of_one_forge(
    tmp_path: Path, kind: list[str], options: list[str], expected: list[str]
) -> None:
    run("init", tmp_path / "new", *kind, *options)
    files = git(tmp_path / "new", "ls-files").splitlines()
    assert [file for file in files if file.startswith((".github/", ".gitlab"))] == expected


def test_an_unknown_forge_is_an_error_that_names_the_known_ones(tmp_path: Path) -> None:
    result = run("init", tmp_path / "new", "--forge", "sourceforge")
    assert "github" in result.stderr
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(("forge", "name"), [("gitea", "Gitea"), ("forgejo", "Forgejo")])
def test_forges_that_run_the_files_of_github_name_its_value(
    tmp_path: Path, forge: str, name: str
) -> None:
    result = run("init", tmp_path / "new", "--forge", forge)
    assert result.exit_code == 2
    assert result.stderr == (
        f"error: '{forge}' is not a value of '--forge': it runs the workflow of 'github'\n"
        f"    hint: '--forge github'; docs/ci.md says how {name} publishes\n"
    )
    assert not (tmp_path / "new").exists()
    assert "'github' for Gitea and Forgejo" in " ".join(run("init", "--help").stdout.split())


@pytest.mark.parametrize("forge", ["github", "gitlab"])
def test_the_ci_of_a_new_project_installs_this_version(tmp_path: Path, forge: str) -> None:
    run("init", tmp_path / "new", "--forge", forge)
    file = {"github": ".github/workflows/bbops.yml", "gitlab": ".gitlab-ci.yml"}[forge]
    assert f"bbops=={__version__}" in (tmp_path / "new" / file).read_text()


# ---- --empty
def test_an_empty_project_has_a_name_and_no_resources(tmp_path: Path) -> None:
    result = run("init", tmp_path / "my-api", "--empty")
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "my-api/project.yaml").read_text() == "bbops: 1\nname: my-api\n"
    files = git(tmp_path / "my-api", "ls-files").splitlines()
    assert {path.partition("/")[0] for path in files} == {
        ".agents", ".github", ".gitignore", ".vscode", "AGENTS.md", "project.yaml",
    }  # fmt: skip
    assert git(tmp_path / "my-api", "rev-list", "--count", "HEAD") == "1"


def test_an_empty_project_is_valid_and_formatted(tmp_path: Path) -> None:
    run("init", tmp_path / "api", "--empty")
    assert run("validate", tmp_path / "api").stdout.startswith("no problems in ")
    assert run("fmt", "--check", tmp_path / "api").exit_code == 0
    assert run("test", "--path", tmp_path / "api").exit_code == 0


def test_an_empty_project_takes_a_first_resource_as_its_message_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = run("init", tmp_path / "api", "--empty").stdout.splitlines()
    (step,) = (line for line in lines if line.startswith("  bbops new "))
    monkeypatch.chdir(tmp_path / "api")
    assert run(*step.split()[1:4]).exit_code == 0
    assert (tmp_path / "api/tables/notes.yaml").exists()
    assert run("validate").stdout.startswith("no problems in ")


def test_an_empty_project_lists_its_files_as_json(tmp_path: Path) -> None:
    found = json.loads(run("init", tmp_path / "api", "--empty", "--json").stdout)
    assert "project.yaml" in found["files"]
    assert not any(path.startswith(("tables/", "functions/")) for path in found["files"])


def test_what_to_do_next_can_be_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = run("init", "My Shop").stdout.splitlines()
    assert lines[0] == "created project 'my-shop' in 'My Shop'"
    assert "  cd 'My Shop'" in lines
    assert any(line.startswith("  bbops dev ") for line in lines)
    assert any(line.startswith("  bbops serve ") for line in lines)


def test_the_current_folder_needs_no_cd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("init", ".", "--name", "shop")
    assert result.exit_code == 0
    assert "cd " not in result.stdout


def test_json_says_what_was_made(tmp_path: Path) -> None:
    made = json.loads(run("init", tmp_path / "shop", "--json").stdout)
    assert made["commit"] == git(tmp_path / "shop", "rev-parse", "HEAD")
    assert made["path"] == str((tmp_path / "shop").resolve())
    assert (made["name"], made["branch"]) == ("shop", "main")
    assert "project.yaml" in made["files"]


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    result = run("init", tmp_path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"error: folder '{tmp_path}' is not empty\n    hint: choose a new or an empty folder\n"
    )
    assert [one.name for one in tmp_path.iterdir()] == ["notes.txt"]


def test_a_file_in_the_way_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "shop").write_text("")
    result = run("init", tmp_path / "shop")
    assert result.exit_code == 2
    assert "is a file, expected a new folder" in result.stderr


def test_a_name_that_no_project_may_have_is_refused_with_a_near_one(tmp_path: Path) -> None:
    result = run("init", tmp_path / "x", "--name", "My Shop")
    assert result.exit_code == 2
    assert "'My Shop' is not a valid project name" in result.stderr
    assert "hint: for example 'my-shop'" in result.stderr
    assert not (tmp_path / "x").exists()


def test_no_git_identity_is_needed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    env = {k: v for k, v in environment(HOME=str(home)).items() if not k.startswith("GIT_")}
    env |= {"XDG_CONFIG_HOME": str(home)}
    done = bbops("init", str(tmp_path / "shop"), env=env)
    assert done.returncode == 0, done.stderr
    assert git(tmp_path / "shop", "log", "-1", "--format=%an") == "bbops"


@pytest.mark.skipif(os.name == "nt", reason="git is found otherwise")
def test_without_git_nothing_is_made(tmp_path: Path) -> None:
    done = bbops("init", str(tmp_path / "shop"), env=environment(PATH=str(tmp_path)))
    assert done.returncode == 2
    assert done.stderr.startswith("error: git is not installed\n    hint: install git 2.38")
    assert not (tmp_path / "shop").exists()


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("my-shop", "my-shop"),
        ("My Shop!", "my-shop"),
        ("42 things", "things"),
        ("Müller & Söhne", "muller-sohne"),
        ("a--b_c.git", "a-b-c-git"),
        ("42", "my-backend"),
        ("", "my-backend"),
        ("x" * 80, "x" * 63),
    ],
)
def test_a_folder_gives_the_nearest_name(folder: str, name: str) -> None:
    assert slug(folder) == name


@pytest.mark.long
@given(st.text(max_size=100))
def test_every_name_made_is_its_own_slug_and_stays_text_in_yaml(text: str) -> None:
    name = slug(text)
    assert slug(name) == name
    assert load(rename(b"bbops: 1\nname: x\n", name)).root["name"] == name


@pytest.mark.parametrize("name", ["true", "null", "no"])
def test_a_name_that_yaml_reads_otherwise_is_quoted(name: str) -> None:
    assert rename(b"name: x\nb: 1\n", name) == f'name: "{name}"\nb: 1\n'.encode()
