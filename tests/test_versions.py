"""Versions: what went live is a tag, and going back is a commit that restores its tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bbops.errors import GitError
from bbops.git.place import find_repository
from bbops.git.store import Store, init
from bbops.git.versions import add_version, find_version, read_versions
from bbops.git.writing import (
    NOTHING,
    Identity,
    make_commit,
    merge_trees,
    move_branch,
    put_files,
    put_folder,
)


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=ada", "-c", "user.email=a@example.com", *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


def commit(folder: Path, name: str, text: str, message: str = "Change") -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    init(tmp_path / "shop", {"a.yaml": b"1\n", "shop/b.yaml": b"1\n"}, message="Begin")
    return tmp_path / "shop"


FACTS = {"Release": "r" * 64, "Author": "Ada"}


def test_versions_are_numbered_as_they_go_live(folder: Path) -> None:
    place = find_repository(folder)
    first = git(folder, "rev-parse", "HEAD")
    assert add_version(place, first, "Begin", FACTS) == "v1"
    assert add_version(place, first, "Begin", FACTS) == "v1"
    second = commit(folder, "a.yaml", "2\n")
    assert add_version(place, second, "Change\nRelease: forged", FACTS) == "v2"
    newest, oldest = read_versions(place)
    assert (newest.name, newest.commit, oldest.commit) == ("v2", second, first)
    assert newest.subject == "Change Release: forged"
    assert newest.facts == FACTS
    assert find_version(place, "1") == oldest
    assert git(folder, "cat-file", "-t", "v2") == "tag"


def test_tags_of_others_are_no_versions_and_their_numbers_are_not_used(folder: Path) -> None:
    place, head = find_repository(folder), git(folder, "rev-parse", "HEAD")
    git(folder, "tag", "v1")
    git(folder, "tag", "-a", "-m", "Not ours", "v4")
    git(folder, "tag", "v1.2.3")
    git(folder, "tag", "version")
    assert read_versions(place) == ()
    assert add_version(place, head, "Begin", FACTS) == "v5"
    with pytest.raises(GitError, match="no version 'v4'"):
        find_version(place, "v4")


def test_a_number_that_somebody_has_taken_is_left_out(folder: Path) -> None:
    place, head = find_repository(folder), git(folder, "rev-parse", "HEAD")
    assert add_version(place, head, "Begin", FACTS) == "v1"
    git(folder, "tag", "v2")
    git(folder, "commit", "-qm", "More", "--allow-empty")
    assert add_version(place, git(folder, "rev-parse", "HEAD"), "More", FACTS) == "v3"


def test_projects_of_one_repository_count_for_themselves(folder: Path) -> None:
    place, head = find_repository(folder), git(folder, "rev-parse", "HEAD")
    assert add_version(place, head, "Begin", FACTS, "apps/shop") == "apps/shop/v1"
    assert add_version(place, head, "Begin", FACTS, "blog") == "blog/v1"
    assert [one.name for one in read_versions(place, "apps/shop")] == ["apps/shop/v1"]
    assert find_version(place, "v1", "apps/shop").name == "apps/shop/v1"


def test_a_branch_moves_with_the_files_where_it_is_checked_out(folder: Path) -> None:
    place, first = find_repository(folder), git(folder, "rev-parse", "HEAD")
    second = commit(folder, "a.yaml", "2\n")
    tree = put_folder(place, second, "", first)
    back = make_commit(place, tree, [second], "Go back", Identity("Ada <x>\n", "a@example.com"))
    move_branch(place, "main", second, back, "go back")
    assert (folder / "a.yaml").read_text() == "1\n"
    assert git(folder, "status", "--porcelain") == ""
    assert git(folder, "log", "-1", "--format=%an %s") == "Ada x Go back"
    with pytest.raises(GitError, match="moved meanwhile"):
        move_branch(place, "main", second, first, "again")
    assert (folder / "a.yaml").read_text() == "1\n"


def test_a_branch_stays_where_files_that_changed_would_be_lost(folder: Path) -> None:
    place, first = find_repository(folder), git(folder, "rev-parse", "HEAD")
    second = commit(folder, "a.yaml", "2\n")
    (folder / "a.yaml").write_text("mine\n")
    with pytest.raises(GitError, match="with changes"):
        move_branch(place, "main", second, first, "back")
    assert (folder / "a.yaml").read_text() == "mine\n"
    assert git(folder, "rev-parse", "main") == second


def test_one_folder_or_some_files_come_back_alone(folder: Path) -> None:
    place, first = find_repository(folder), git(folder, "rev-parse", "HEAD")
    commit(folder, "a.yaml", "2\n")
    commit(folder, "shop/new.yaml", "2\n")
    second = commit(folder, "shop/b.yaml", "2\n")

    def show(tree: str) -> dict[str, str]:
        names = git(folder, "ls-tree", "-r", "--name-only", tree).split()
        return {one: git(folder, "show", f"{tree}:{one}") for one in names}

    tree = put_folder(place, second, "shop", first)
    assert show(tree) == {"a.yaml": "2", "shop/b.yaml": "1"}
    blob = git(folder, "rev-parse", f"{first}:a.yaml")
    tree = put_files(place, second, {"a.yaml": ("100644", blob), "shop/new.yaml": None})
    assert show(tree) == {"a.yaml": "1", "shop/b.yaml": "2"}
    assert not (folder / ".git/index.lock").exists()


def test_a_merge_names_the_files_that_both_have_changed(folder: Path) -> None:
    place, base = find_repository(folder), git(folder, "rev-parse", "HEAD")
    git(folder, "checkout", "-qb", "topic")
    theirs = commit(folder, "a.yaml", "theirs\n")
    git(folder, "checkout", "-q", "main")
    clean = merge_trees(place, base, theirs)
    assert clean.conflicts == ()
    ours = commit(folder, "a.yaml", "ours\n")
    assert merge_trees(place, ours, theirs).conflicts == ("a.yaml",)


def test_a_new_branch_is_made_where_there_was_none(folder: Path) -> None:
    place, head = find_repository(folder), git(folder, "rev-parse", "HEAD")
    move_branch(place, "rollback/v1", NOTHING, head, "new")
    assert Store(place).branches() == {"main": head, "rollback/v1": head}
    with pytest.raises(GitError, match="moved meanwhile"):
        move_branch(place, "rollback/v1", NOTHING, head, "new")
