"""CI jobs on this machine: a forge's repository, its checkouts, and the commands of a job."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bbops.interfaces.cli._root_group import RootGroup
from tests.support.actions_runner import read_outputs
from tests.support.planning import starting_files

NAMED = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false")
NUMBER = 12


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *NAMED, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@dataclass
class Forge:
    """The repository of a forge, with a work tree for its authors."""

    root: Path
    under: str = ""
    main: str = "main"

    @property
    def folder(self) -> Path:
        """The folder of the project."""
        return self.root / self.under

    @property
    def url(self) -> str:
        return self.root.as_uri()

    def create(self, files: Mapping[str, str] | None = None) -> str:
        """Create the repository with one commit, and return its id."""
        self.folder.mkdir(parents=True)
        git(self.root, "init", "-q", "-b", self.main)
        return self.commit(starting_files() if files is None else files, "Start")

    def commit(self, files: Mapping[str, str], message: str = "Change") -> str:
        """Commit files of the project on the current branch, and return the commit's id."""
        for path, text in files.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(text)
        git(self.root, "add", "--all")
        git(self.root, "commit", "-qm", message)
        return git(self.root, "rev-parse", "HEAD")

    def change(self, path: str, old: str, new: str) -> str:
        """Commit another text in a file, and return the commit's id."""
        text = (self.folder / path).read_text()
        assert old in text
        return self.commit({path: text.replace(old, new)})

    def branch(self, name: str) -> None:
        """Create a branch, or go to it."""
        known = git(self.root, "branch", "--list", "--", name)
        git(self.root, "switch", "-q", *(() if known else ("-c",)), name)

    def open_pull_request(self, branch: str) -> str:
        """Create the refs of a pull request, and return the id of its merge."""
        git(self.root, "update-ref", f"refs/pull/{NUMBER}/head", branch)
        tree = git(self.root, "merge-tree", "--write-tree", self.main, branch)
        parents = ("-p", self.main, "-p", branch)
        merge = git(self.root, "commit-tree", tree, *parents, "-m", "Merge")
        git(self.root, "update-ref", f"refs/pull/{NUMBER}/merge", merge)
        return merge

    def id_of(self, revision: str) -> str:
        return git(self.root, "rev-parse", revision)


@dataclass
class Job:
    """A job of a CI system, with a checkout of its own."""

    folder: Path
    under: str = ""
    env: dict[str, str] = field(default_factory=dict)

    def check_out(self, url: str, ref: str, *, depth: int = 0, branches: bool = True) -> None:
        """Fetch a ref, and all branches if there is no depth; check it out as the runner does."""
        git(self.folder, "init", "-q", "-b", "unused")
        git(self.folder, "remote", "add", "origin", url)
        refs = [f"+{ref}:refs/remotes/job/head"]
        if branches and not depth:
            refs.append("+refs/heads/*:refs/remotes/origin/*")
        shallow = (f"--depth={depth}",) if depth else ()
        git(self.folder, "fetch", "-q", "--no-tags", *shallow, "origin", *refs)
        git(self.folder, "checkout", "-q", "--detach", "refs/remotes/job/head")

    def write_event(self, event: Mapping[str, Any]) -> None:
        path = self.folder.parent / "event.json"
        path.write_text(json.dumps(event))
        self.env["GITHUB_EVENT_PATH"] = str(path)

    def run(self, *arguments: str) -> Result:
        """Run `bbops ci`, with the project's folder as the last argument."""
        target = str(self.folder / self.under)
        return CliRunner().invoke(RootGroup("bbops"), ["ci", *arguments, target], env=self.env)

    @property
    def outputs(self) -> dict[str, str]:
        return read_outputs(Path(self.env["GITHUB_OUTPUT"]).read_text())

    @property
    def summary(self) -> str:
        return Path(self.env["GITHUB_STEP_SUMMARY"]).read_text()


def actions_job(folder: Path, event_name: str, **env: str) -> Job:
    """Return a job of GitHub Actions in a new folder."""
    (folder / "checkout").mkdir(parents=True)
    (folder / "temp").mkdir()
    variables = {
        "GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": event_name, "GITHUB_REPOSITORY": "ada/shop",
        "GITHUB_SERVER_URL": "https://github.example.org", "GITHUB_RUN_ID": "9",
        "GITHUB_OUTPUT": str(folder / "output"), "RUNNER_TEMP": str(folder / "temp"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"), **env,
    }  # fmt: skip
    return Job(folder / "checkout", env=variables)


def pull_request_job(
    folder: Path, forge: Forge, branch: str, *, depth: int = 0, source: str = "ada/shop"
) -> Job:
    """Return a job for a pull request, with its merge checked out."""
    merge = forge.open_pull_request(branch)
    job = actions_job(folder, "pull_request", GITHUB_SHA=merge)
    job.under = forge.under
    sides = {
        "head": {"ref": branch, "sha": forge.id_of(branch), "repo": {"full_name": source}},
        "base": {"ref": forge.main, "sha": forge.id_of(forge.main),
                 "repo": {"full_name": "ada/shop"}},
    }  # fmt: skip
    job.write_event({"pull_request": {"number": NUMBER, **sides}, **repository(forge)})
    job.check_out(forge.url, f"refs/pull/{NUMBER}/merge", depth=depth)
    return job


def push_job(folder: Path, forge: Forge, branch: str, before: str, *, depth: int = 0) -> Job:
    """Return a job for a push, with the branch checked out."""
    refs = {"GITHUB_REF": f"refs/heads/{branch}", "GITHUB_REF_NAME": branch}
    job = actions_job(folder, "push", GITHUB_SHA=forge.id_of(branch), **refs)
    job.under = forge.under
    job.write_event({"before": before, **repository(forge)})
    job.check_out(forge.url, f"refs/heads/{branch}", depth=depth)
    return job


def repository(forge: Forge) -> dict[str, Any]:
    return {"repository": {"full_name": "ada/shop", "default_branch": forge.main}}


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    """A forge with a project of one commit on main."""
    made = Forge(tmp_path / "forge")
    made.create()
    return made
