"""Git of the stand-in for GitHub: bare repositories, heads of pull requests, and merges."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.support.github.facts import Pull, Repo
from tests.support.served import git


def init(path: Path) -> None:
    """Create an empty repository that accepts pushes over HTTP."""
    path.mkdir(parents=True)
    git(path, "init", "-q", "--bare", "-b", "main")
    for name in ("http.receivepack", "uploadpack.allowAnySHA1InWant"):
        git(path, "config", name, "true")


def fork(source: Path, path: Path) -> None:
    """Copy a repository for a fork, without the heads of its pull requests."""
    init(path)
    git(path, "fetch", "-q", str(source), "refs/heads/*:refs/heads/*")


def refs(path: Path) -> dict[str, str]:
    """Return the commit of each branch and tag."""
    text = git(path, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags")
    pairs = (line.split(" ", 1) for line in text.splitlines())
    return {name: commit for commit, name in pairs}


def has(path: Path, commit: str) -> bool:
    """Return whether a commit exists."""
    command = ["git", "cat-file", "-e", f"{commit}^{{commit}}"]
    return subprocess.run(command, cwd=path, capture_output=True, check=False).returncode == 0


def is_ancestor(path: Path, commit: str, tip: str) -> bool:
    """Return whether a commit is part of a branch."""
    command = ["git", "merge-base", "--is-ancestor", commit, tip]
    return subprocess.run(command, cwd=path, capture_output=True, check=False).returncode == 0


def set_head(repo: Repo, pull: Pull, commit: str, folder: str = "pull") -> None:
    """Set the ref of a pull request's head, below a folder of refs, with its fork's objects."""
    home = pull.home or repo
    if home.path != repo.path:
        git(repo.path, "fetch", "-q", str(home.path), commit)
    git(repo.path, "update-ref", f"refs/{folder}/{pull.number}/head", commit)


def new_commits(path: Path, base: str, tip: str) -> list[str]:
    """Return the commits of `tip` that are not in `base`, oldest first."""
    return git(path, "rev-list", "--reverse", f"{base}..{tip}").split()


def describe(path: Path, commit: str) -> tuple[str, str, str, str, list[str], str]:
    """Return author's and committer's names and addresses, the parents and the message."""
    text = git(path, "show", "-s", "--format=%an%n%ae%n%cn%n%ce%n%P%n%B", commit)
    author, address, committer, other, parents, message = text.split("\n", 5)
    return author, address, committer, other, parents.split(), message


def tree(path: Path, commit: str) -> str:
    """Return the tree of a commit."""
    return git(path, "rev-parse", f"{commit}^{{tree}}")


def merge(repo: Repo, pull: Pull, method: str) -> Sequence[str]:
    """Merge a head into its target; return the new commits, the last of them is the tip.

    Raises:
        CalledProcessError: they conflict.
    """
    tip = refs(repo.path)[f"refs/heads/{pull.target}"]
    folder = Path(tempfile.mkdtemp())
    try:
        git(repo.path, "worktree", "add", "-q", "--detach", str(folder / "work"), tip)
        work = folder / "work"
        if method == "merge":
            git(work, "merge", "-q", "--no-ff", "-m", f"Merge {pull.number}", pull.head)
        elif method == "squash":
            git(work, "merge", "-q", "--squash", pull.head)
            git(work, "commit", "-q", "-m", f"{pull.title} (#{pull.number})")
        else:
            git(work, "cherry-pick", f"{tip}..{pull.head}")
        new = git(work, "rev-parse", "HEAD")
        git(repo.path, "update-ref", f"refs/heads/{pull.target}", new, tip)
    finally:
        git(repo.path, "worktree", "remove", "--force", str(folder / "work"))
        shutil.rmtree(folder)
    return new_commits(repo.path, tip, new)
