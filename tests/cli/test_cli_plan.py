"""`bbops plan` in real repositories: what is compared with what, and how it ends."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bbops.interfaces.cli._root_group import RootGroup
from tests.support.planning import starting_files

NAMED = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false")


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *NAMED, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def commit(folder: Path, message: str = "Change") -> str:
    git(folder, "add", "--all")
    git(folder, "commit", "-qm", message)
    return git(folder, "rev-parse", "HEAD")


def write(folder: Path) -> None:
    for path, text in starting_files().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one commit on main; the current folder."""
    folder = tmp_path / "shop"
    folder.mkdir()
    write(folder)
    git(folder, "init", "-q", "-b", "main")
    commit(folder)
    monkeypatch.chdir(folder)
    return folder


def run(*arguments: str, given: str = "") -> Result:
    return CliRunner().invoke(RootGroup("bbops"), ["plan", *arguments], input=given)


def open_route(folder: Path) -> None:
    path = folder / "endpoints/users.yaml"
    path.write_text(path.read_text().replace("None", "JWT"))


def test_nothing_changed_exits_with_0(shop: Path) -> None:
    done = run()
    assert done.exit_code == 0
    assert done.stdout.endswith("→ this folder\nnothing changes\n")


def test_a_change_of_the_folder_exits_with_2_and_is_told(shop: Path) -> None:
    open_route(shop)
    done = run()
    assert done.exit_code == 2
    assert "GET /users: needs JWT, it was open (endpoints/users.yaml:4)" in done.stdout
    assert "needs 1 approval" in done.stdout


def test_a_branch_is_compared_with_main(shop: Path) -> None:
    git(shop, "switch", "-qc", "topic")
    open_route(shop)
    commit(shop)
    assert run().exit_code == 2
    assert run("--against", "topic").exit_code == 0


def test_two_revisions_are_compared_without_the_folder(shop: Path) -> None:
    git(shop, "tag", "v1")
    open_route(shop)
    last = commit(shop)
    (shop / "project.yaml").write_text("- nothing to read\n")
    done = run("v1..main")
    assert done.exit_code == 2
    assert done.stdout.startswith("v1 ")
    assert f"main {last[:12]}\n" in done.stdout
    assert run(f"{last}..main").exit_code == 0


def test_a_checkout_without_main_takes_that_of_origin(shop: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(shop), "clone")
    git(tmp_path / "clone", "switch", "-qc", "topic")
    git(tmp_path / "clone", "branch", "-qD", "main")
    done = run("--path", str(tmp_path / "clone"))
    assert (done.exit_code, done.stdout.startswith("origin/main ")) == (0, True)


def test_a_project_below_the_repository_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "services/shop"
    inner.mkdir(parents=True)
    write(inner)
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path)
    monkeypatch.chdir(inner)
    assert run().exit_code == 0
    open_route(inner)
    assert run().exit_code == 2


def test_the_json_has_both_trees_and_the_digest(shop: Path) -> None:
    open_route(shop)
    done = run("--json")
    told = json.loads(done.stdout)
    assert (done.exit_code, told["version"], told["changes"]) == (2, 1, True)
    assert told["head"]["revision"] == "working-tree"
    assert len(told["digest"]) == 64
    assert told["plan"]["breaks"][0]["code"] == "authentication-required"
    assert json.loads(run("--format", "json").stdout) == told


def test_a_commit_of_the_folder_has_the_same_plan(shop: Path) -> None:
    before = git(shop, "rev-parse", "HEAD")
    open_route(shop)
    drafted = json.loads(run("--json").stdout)
    commit(shop)
    assert json.loads(run(f"{before}..main", "--json").stdout)["digest"] == drafted["digest"]


def test_the_markdown_begins_with_its_mark(shop: Path) -> None:
    open_route(shop)
    assert run("--format", "markdown").stdout.startswith("<!-- bbops plan -->\n\n### 1 break,")


def test_rows_come_from_a_pipe(shop: Path) -> None:
    path = shop / "tables/orders.yaml"
    path.write_text(path.read_text().replace("  note: { type: text, nullable: true }\n", ""))
    assert "nobody asked the live database" in " ".join(run().stdout.split())
    change = {"kind": "drop column", "table": "orders", "what": "note", "risk": "destructive",
              "why": "rows would lose their value", "rows": 3, "keys": "id 1, 2, 3",
              "when": "hidden after the swap", "cure": ""}  # fmt: skip
    answer = {"hash": "0123456789ab", "waits": True, "changes": [change]}
    done = run("--rows", "-", given=json.dumps(answer))
    assert "(3 rows would lose their value: id 1, 2, 3)" in done.stdout
    assert "nobody asked" not in done.stdout
    odd = run("--rows", "-", given="bbops")
    assert (odd.exit_code, "this is not what" in odd.stderr) == (1, True)


# ---- what keeps it from being said
def test_mistakes_are_told_as_validate_tells_them(shop: Path) -> None:
    (shop / "endpoints/users.yaml").write_text("method: GET\n")
    done = run()
    assert done.exit_code == 1
    assert done.stderr.startswith("this folder has errors, so nothing can be compared:\n")
    assert "endpoints/users.yaml:1:1: error: 'path' is missing [missing-key]" in done.stderr


def test_mistakes_of_the_old_project_say_which_it_is(shop: Path) -> None:
    (shop / "endpoints/users.yaml").write_text("method: GET\n")
    commit(shop)
    git(shop, "checkout", "-q", "HEAD~1", "--", ".")
    done = run()
    assert done.exit_code == 1
    assert done.stderr.startswith(f"main {git(shop, 'rev-parse', 'HEAD')[:12]} has errors")


@pytest.mark.parametrize(
    ("arguments", "words", "cure"),
    [
        (["--against", "nope"], "there is no branch, tag or commit 'nope'", "--against REV"),
        (["nope..main"], "there is no branch, tag or commit 'nope'", "--against REV"),
        (["--against", "--all"], "there is no branch, tag or commit '--all'", "--against REV"),
        (["main"], "expected two revisions 'A..B', got 'main'", "bbops plan --against main"),
        (["main...x"], "expected two revisions 'A..B', got 'main...x'", "bbops plan A..B"),
        (["a..b", "--against", "c"], "expected two revisions", "bbops plan A..B"),
        (["--path", "endpoints"], "project.yaml is missing in 'endpoints'", "the project around"),
        (["--format", "xml"], "invalid value for '--format'", "bbops plan --help"),
        (["--bogus"], "no such option '--bogus'", ""),
    ],
)
def test_what_cannot_be_said_exits_with_1_and_a_cure(
    shop: Path, arguments: list[str], words: str, cure: str
) -> None:
    done = subprocess_of(shop, *arguments)
    assert done.returncode == 1
    assert words in done.stderr.lower() or words in done.stderr
    assert cure in done.stderr


def subprocess_of(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    from tests.support.command_line import bbops  # noqa: PLC0415 - a real process: click's exit codes

    return bbops("plan", *arguments, cwd=folder)


def test_a_folder_outside_a_repository_has_nothing_to_compare(tmp_path: Path) -> None:
    write(tmp_path)
    done = run("--path", str(tmp_path))
    assert done.exit_code == 1
    assert "is in no git repository" in done.stderr
    assert "git init" in done.stderr


def test_a_repository_without_a_commit_has_nothing_to_compare(tmp_path: Path) -> None:
    write(tmp_path)
    git(tmp_path, "init", "-q", "-b", "main")
    done = run("--path", str(tmp_path))
    assert (done.exit_code, "there is no branch, tag or commit 'main'" in done.stderr) == (1, True)
