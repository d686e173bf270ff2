"""Versions: what went live is a tag, and going back is a commit that restores its tree."""

from __future__ import annotations

import subprocess
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bbops.base.errors import GitError
from bbops.interfaces.answers import Publication
from bbops.source.git.numbered_tags import add_version, read_series, read_versions
from bbops.source.git.place import Place, find_repository
from bbops.source.git.series import Series, choose_versions, find_tag_mistake, find_version
from bbops.source.git.store import Store, init
from bbops.source.git.writing import (
    NOTHING,
    Identity,
    make_commit,
    merge_trees,
    move_branch,
    put_files,
    put_folder,
)
from bbops_server.publish.status.publications import filter_versions


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


SHOP = Series("shop", "main")


def facts(commit: str, branch: str = "main") -> dict[str, str]:
    return {"Release": "r" * 64, "Author": "Ada", "Revision": f"{branch}@sha1:{commit}"}


def add(place: Place, commit: str, series: Series = SHOP) -> str:
    told = facts(commit, series.branch)
    return add_version(place, commit, "Begin", told, series)


def old_tag(folder: Path, name: str, commit: str, branch: str = "main") -> None:
    """Tag as versions were once tagged: nothing but the name says whose it is."""
    lines = "\n".join(f"{key}: {value}" for key, value in facts(commit, branch).items())
    git(folder, "tag", "-a", "-m", f"Begin\n\n{lines}", name, commit)


def test_versions_are_numbered_as_they_go_live(folder: Path) -> None:
    place = find_repository(folder)
    first = git(folder, "rev-parse", "HEAD")
    assert add(place, first) == "bbops/shop/v1"
    second = commit(folder, "a.yaml", "2\n")
    told = facts(second)
    assert add_version(place, second, "Change\nRelease: forged", told, SHOP) == "bbops/shop/v2"
    newest, oldest = read_series(place, SHOP)
    assert (newest.name, newest.commit, oldest.commit) == ("bbops/shop/v2", second, first)
    assert (newest.short, newest.subject) == ("v2", "Change Release: forged")
    assert newest.facts == {**told, "Project": "shop", "Folder": "."}
    for name in ("1", "v1", "bbops/shop/v1"):
        assert find_version((newest, oldest), name) == oldest
    assert git(folder, "cat-file", "-t", "bbops/shop/v2") == "tag"


def test_tags_of_others_are_no_versions_and_their_numbers_are_not_used(folder: Path) -> None:
    place, head = find_repository(folder), git(folder, "rev-parse", "HEAD")
    git(folder, "tag", "bbops/shop/v1")
    git(folder, "tag", "-a", "-m", "Not ours", "bbops/shop/v4")
    git(folder, "tag", "bbops/shop/v1.2.3")
    git(folder, "tag", "version")
    assert read_versions(place) == ()
    assert add(place, head) == "bbops/shop/v5"
    with pytest.raises(GitError, match="no version 'v4'"):
        find_version(read_series(place, SHOP), "v4")


def test_a_number_that_somebody_has_taken_is_left_out(folder: Path) -> None:
    place, head = find_repository(folder), git(folder, "rev-parse", "HEAD")
    assert add(place, head) == "bbops/shop/v1"
    git(folder, "tag", "bbops/shop/v2")
    (folder / ".git/refs/tags/bbops/shop/v3.lock").touch()  # a git that was killed leaves it
    git(folder, "commit", "-qm", "More", "--allow-empty")
    assert add(place, git(folder, "rev-parse", "HEAD")) == "bbops/shop/v4"


def test_a_tag_that_was_moved_is_no_version(folder: Path) -> None:
    place, first = find_repository(folder), git(folder, "rev-parse", "HEAD")
    name = add(place, first)
    text = git(folder, "for-each-ref", "--format=%(contents)", f"refs/tags/{name}")
    git(folder, "tag", "-f", "-a", "-m", text, name, commit(folder, "a.yaml", "2\n"))
    assert read_versions(place) == ()


@pytest.mark.parametrize(
    "other",
    [
        Series("blog", "main", "blog"), Series("shop-next", "next"), Series("shop", "next"),
        Series("mirror", "main"),
    ],
    ids=["folder", "branch", "same name on a branch", "same branch"],
)  # fmt: skip
def test_two_projects_of_a_repository_share_no_version(folder: Path, other: Series) -> None:
    place, head = find_repository(folder), git(folder, "rev-parse", "HEAD")
    made = {one: [add(place, head, one), add(place, head, one)] for one in (SHOP, other)}
    assert len({name for names in made.values() for name in names}) == 4
    for series, names in made.items():
        assert [one.name for one in read_series(place, series)] == names[::-1]


def test_old_tags_are_versions_of_the_project_that_followed_their_branch(folder: Path) -> None:
    place, head = find_repository(folder), git(folder, "rev-parse", "HEAD")
    old_tag(folder, "v6", head, "next")
    old_tag(folder, "v7", head)
    old_tag(folder, "apps/shop/v3", head)
    blog, following = Series("blog", "main", "apps/shop"), Series("next", "next")
    assert [one.name for one in read_series(place, SHOP)] == ["v7"]
    assert [one.name for one in read_series(place, following)] == ["v6"]
    assert [one.name for one in read_series(place, blog)] == ["apps/shop/v3"]
    assert add(place, head) == "bbops/shop/v8"
    assert add(place, head, blog) == "bbops/blog/v4"
    assert [one.short for one in read_series(place, SHOP)] == ["v8", "v7"]


def test_a_clone_tells_projects_apart_or_asks(folder: Path) -> None:
    place, head = find_repository(folder), git(folder, "rev-parse", "HEAD")
    assert choose_versions(read_versions(place), "") == ()
    old_tag(folder, "v1", head)
    assert [one.name for one in choose_versions(read_versions(place), "")] == ["v1"]
    add(place, head)
    add(place, head, Series("staging", "next"))
    every = read_versions(place)
    for how in ({"branch": "main"}, {"project": "shop"}):
        assert [one.name for one in choose_versions(every, "", **how)] == ["bbops/shop/v2", "v1"]
    found = choose_versions(every, "", branch="next")
    assert [one.name for one in found] == ["bbops/staging/v1"]
    with pytest.raises(GitError, match="'shop' of branch 'main', 'staging' of branch 'next'"):
        choose_versions(every, "", branch="topic")
    with pytest.raises(GitError, match="there are no versions of project 'blog'"):
        choose_versions(every, "", project="blog")


def test_what_a_project_remembers_tells_whose_an_old_tag_is(folder: Path) -> None:
    place, head = find_repository(folder), git(folder, "rev-parse", "HEAD")
    for number in (1, 2, 3):
        old_tag(folder, f"v{number}", head)
    every = read_versions(place)
    made = datetime.fromisoformat(every[0].at)

    def known(at: datetime, version: str = "") -> Publication:
        return Publication(f"main@sha1:{head}", at, "live", 1.0, version)

    def names(*publications: Publication) -> list[str]:
        return [one.name for one in filter_versions(every, SHOP, publications)]

    assert names() == names(known(made + timedelta(days=1))) == ["v3", "v2", "v1"]
    assert names(known(made - timedelta(days=1), "v2")) == ["v2"]
    renamed = Series("store", "stable")
    assert filter_versions(every, renamed, [known(made, "v3")]) == [every[0]]


@pytest.mark.parametrize(
    ("tag", "wrong"),
    [
        ("bbops/{project}/v{number}", ""), ("v{number}", ""), ("live/v{number}", ""),
        ("release-{project}/v{number}", ""), ("bbops/{project}", "ends with '/v{number}'"),
        ("{project}/v{number}", "begins with a word"), ("a/{project}-v{number}", "ends with"),
        ("a b/{project}/v{number}", "cannot be"), ("a/{name}/v{number}", "cannot be"),
        ("a/{project}/{project}/v{number}", "cannot be"), ("", "ends with"),
        ("/v{number}", "cannot be"), ("../v{number}", "cannot be"),
    ],
)  # fmt: skip
def test_the_name_of_tags_is_checked(tag: str, wrong: str) -> None:
    assert wrong in find_tag_mistake(tag)
    assert bool(wrong) == bool(find_tag_mistake(tag))


def test_a_branch_moves_with_the_files_where_it_is_checked_out(folder: Path) -> None:
    place, first = find_repository(folder), git(folder, "rev-parse", "HEAD")
    second = commit(folder, "a.yaml", "2\n")
    tree = put_folder(place, second, "", first)
    back = make_commit(place, tree, [second], "Go back", Identity("Ada <x>\n", "a@example.com"))
    move_branch(place, "main", second, back, "go back")
    assert (folder / "a.yaml").read_text() == "1\n"
    assert git(folder, "status", "--porcelain") == ""
    assert git(folder, "log", "-1", "--format=%an %s") == "Ada x Go back"
    with pytest.raises(GitError, match="moved in the meantime"):
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
    with pytest.raises(GitError, match="moved in the meantime"):
        move_branch(place, "rollback/v1", NOTHING, head, "new")
