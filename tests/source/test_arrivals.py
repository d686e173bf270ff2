"""New commits of a branch, and the content of merges, with real git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bbops.base.errors import GitError
from bbops.source.git.arrivals import list_arrivals, read_blob, read_merged, require_listable
from bbops.source.git.place import find_repository
from bbops.source.git.signatures import TrustedKeys, find_unsigned
from tests.support.git_store import Git, clean_environment, git, repository

__all__ = ["clean_environment", "git", "repository"]


@pytest.fixture
def topic(repository: Path, git: Git) -> tuple[str, str]:
    """A branch with two commits beside one of main; the commits of main and of the branch."""
    git(repository, "switch", "-qc", "topic")
    for number in (1, 2):
        write(repository, git, f"new{number}.yaml", f"n: {number}\n")
    head = git(repository, "rev-parse", "HEAD")
    git(repository, "switch", "-q", "main")
    base = write(repository, git, "main.yaml", "m: 1\n")
    return base, head


def write(repository: Path, git: Git, file: str, text: str) -> str:
    (repository / file).write_text(text)
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", f"Write {file}")
    return git(repository, "rev-parse", "HEAD")


def is_clean(repository: Path, base: str, head: str, merged: str) -> bool:
    return read_merged(find_repository(repository), base, head, merged).is_clean


def test_arrivals_are_the_first_parent_line(
    repository: Path, git: Git, topic: tuple[str, str]
) -> None:
    base, head = topic
    git(repository, "merge", "-q", "--no-ff", "-m", "Merge", head)
    merge = git(repository, "rev-parse", "HEAD")
    newest = write(repository, git, "main.yaml", "m: 2\n")
    place = find_repository(repository)
    found = list_arrivals(place, base, newest, 50)
    assert [(arrival.commit, arrival.parents) for arrival in found] == [
        (merge, (base, head)), (newest, (merge,)),
    ]  # fmt: skip
    assert {arrival.author for arrival in found} == {"Ann"}
    assert [arrival.commit for arrival in list_arrivals(place, base, newest, 1)] == [newest]
    assert list_arrivals(place, newest, base, 50) == []


@pytest.mark.parametrize("separator", ["\u2028", "\x85", "\x0c"])
def test_the_name_of_an_author_may_have_line_separators(
    repository: Path, git: Git, separator: str
) -> None:
    base = git(repository, "rev-parse", "HEAD")
    git(
        repository,
        "-c",
        f"user.name=Mallory{separator}X",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "x",
    )
    newest, place = git(repository, "rev-parse", "HEAD"), find_repository(repository)
    assert [arrival.commit for arrival in list_arrivals(place, base, newest, 50)] == [newest]
    assert [*find_unsigned(place, [newest], TrustedKeys(b"", None))] == [newest]


def test_a_few_trees_that_name_millions_of_files_are_refused(repository: Path, git: Git) -> None:
    folder = repository / "0"
    folder.mkdir()
    (folder / "file").write_text("x")
    git(repository, "add", "-A")
    tree = git(repository, "rev-parse", f"{git(repository, 'write-tree')}:0")
    for _ in range(8):
        rows = "".join(f"040000 tree {tree}\tfolder{number}\n" for number in range(10))
        made = subprocess.run(
            ["git", "mktree"],
            cwd=repository,
            input=rows,
            capture_output=True,
            text=True,
            check=True,
        )
        tree = made.stdout.strip()
    commit = git(repository, "commit-tree", tree, "-m", "bomb")
    place = find_repository(repository)
    require_listable(place, "HEAD")
    with pytest.raises(GitError, match="too many files"):
        require_listable(place, commit)


def test_merge_squash_and_rebase_have_the_reviewed_content(
    repository: Path, git: Git, topic: tuple[str, str]
) -> None:
    base, head = topic
    git(repository, "merge", "-q", "--no-ff", "-m", "Merge", head)
    assert is_clean(repository, base, head, git(repository, "rev-parse", "HEAD"))
    git(repository, "reset", "-q", "--hard", base)
    git(repository, "merge", "-q", "--squash", head)
    git(repository, "commit", "-qm", "Squash")
    assert is_clean(repository, base, head, git(repository, "rev-parse", "HEAD"))
    git(repository, "reset", "-q", "--hard", base)
    git(repository, "cherry-pick", f"{head}~1", head)
    content = read_merged(find_repository(repository), base, head, "HEAD")
    assert (content.is_clean, content.files) == (True, ("new1.yaml", "new2.yaml"))
    assert "Write new1.yaml" in (content.messages or "")
    assert "main.yaml" not in (content.messages or "")


def test_merge_with_another_content_is_not_clean(
    repository: Path, git: Git, topic: tuple[str, str]
) -> None:
    base, head = topic
    git(repository, "merge", "-q", "--no-ff", "--no-commit", head)
    (repository / "evil.yaml").write_text("e: 1\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Merge")
    assert not is_clean(repository, base, head, git(repository, "rev-parse", "HEAD"))


def test_merge_that_resolves_a_conflict_is_not_clean(
    repository: Path, git: Git, topic: tuple[str, str]
) -> None:
    _, head = topic
    base = write(repository, git, "new1.yaml", "n: 9\n")
    with pytest.raises(Exception, match="status 1"):
        git(repository, "merge", "-q", "--no-ff", head)
    (repository / "new1.yaml").write_text("n: 1\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Merge")
    assert not is_clean(repository, base, head, git(repository, "rev-parse", "HEAD"))


def test_merge_that_drops_the_branch_is_not_clean(
    repository: Path, git: Git, topic: tuple[str, str]
) -> None:
    base, head = topic
    git(repository, "merge", "-q", "-s", "ours", "-m", "Merge", head)
    assert not is_clean(repository, base, head, git(repository, "rev-parse", "HEAD"))


def test_unrelated_history_is_not_clean(repository: Path, git: Git, topic: tuple[str, str]) -> None:
    base, _ = topic
    tree = git(repository, "rev-parse", f"{base}^{{tree}}")
    orphan = git(repository, "commit-tree", "-m", "Alone", tree)
    assert not is_clean(repository, base, orphan, base)


def test_path_of_other_bytes_is_text(repository: Path, git: Git) -> None:
    base = git(repository, "rev-parse", "HEAD")
    (repository / os.fsdecode(b"caf\xe9.yaml")).write_text("x: 1\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Latin-1")
    assert read_merged(find_repository(repository), base, "HEAD", "HEAD").files == (
        "caf\ufffd.yaml",
    )


def test_file_of_a_commit_is_read_up_to_a_size(repository: Path) -> None:
    place = find_repository(repository)
    assert read_blob(place, "HEAD", "b/c.yaml", 100) == b"c: 2\n\n"
    assert read_blob(place, "HEAD", "b/c.yaml", 2) is None
    assert read_blob(place, "HEAD", "b", 100) is None
    assert read_blob(place, "HEAD", "missing", 100) is None
