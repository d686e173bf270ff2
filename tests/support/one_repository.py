"""A server of projects that share repositories: two branches of one, two folders of another."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from tests.support.patience import wait_for
from tests.support.pushing import make_repository
from tests.support.served import git
from tests.support.several import Several
from tests.support.small_project import hello, write_project

SHARED = """
projects:
  shop: { repository: ./shop, branch: main, pathPrefix: /shop }
  next: { repository: ./shop, branch: next, pathPrefix: /next }
  left: { repository: ./both, path: left, pathPrefix: /left }
  right: { repository: ./both, path: right, pathPrefix: /right }
"""
BRANCHES = {"shop": "main", "next": "next", "left": "main", "right": "main"}
PATHS = {"shop": "", "next": "", "left": "left", "right": "right"}


class OneRepository:
    """The server, and a clone of each repository."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, paths in (("shop", ("",)), ("both", ("left", "right"))):
            make_repository(folder / name, bare=True, paths=paths)
        git(folder / "shop", "branch", "next", "main")
        self.served = self.start()

    def start(self, text: str = SHARED) -> Several:
        """Start the server; all projects are live."""
        served = Several(self.folder, text)
        for name in BRANCHES:
            wait_for(lambda name=name: served.ask(f"/{name}/hello").is_success)
            wait_for(lambda name=name, one=served: _is_ready(one.told(name)))
        return served

    def restart(self) -> None:
        """End the server and start it again."""
        self.served.stop()
        self.served = self.start()

    def bare(self, project: str) -> Path:
        """Return the repository of a project."""
        return self.folder / ("both" if PATHS[project] else "shop")

    def work(self, project: str) -> Path:
        """Return a clone of the repository, on the newest commit of the project's branch."""
        bare, branch = self.bare(project), BRANCHES[project]
        work = bare.with_name(f"{bare.name}.work")
        git(work, "fetch", "-q", "--tags", str(bare), f"+refs/heads/{branch}:refs/remotes/{branch}")
        git(work, "checkout", "-q", "-B", branch, f"refs/remotes/{branch}")
        return work

    def push(self, project: str) -> str:
        """Push what is committed in the clone to the branch of a project; return the commit."""
        work = self.work_of(project)
        git(work, "push", "-q", str(self.bare(project)), f"HEAD:refs/heads/{BRANCHES[project]}")
        return git(work, "rev-parse", "HEAD")

    def work_of(self, project: str) -> Path:
        """Return the clone as it is."""
        return self.bare(project).with_name(f"{self.bare(project).name}.work")

    def commit(self, project: str, files: dict[str, str], message: str = "Change") -> str:
        """Commit files from the repository's root, and push them."""
        work = self.work(project)
        for name, text in files.items():
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_text(text)
        git(work, "add", "-A")
        git(work, "commit", "-q", "--allow-empty", "-m", message)
        return self.push(project)

    def publish(self, project: str, number: int) -> str:
        """Let `/hello` of a project answer a number; return the commit once it is live."""
        work = self.work(project)
        write_project(work / PATHS[project], hello(number))
        git(work, "add", "-A")
        git(work, "commit", "-qm", f"Number {number}")
        commit = self.push(project)
        self.wait(project, commit)
        return commit

    def wait(self, project: str, commit: str) -> dict[str, Any]:
        """Return the status of a project once it has done with a commit."""
        wait_for(lambda: self.is_over(project, commit))
        return self.served.told(project)

    def is_over(self, project: str, commit: str) -> bool:
        """Return whether an attempt at a commit has ended well."""
        told = self.served.told(project)
        return bool(told["attempted_revision"].endswith(commit)) and _is_ready(told)

    def versions(self, project: str) -> list[dict[str, Any]]:
        """Return the versions of a project, newest first."""
        reply = self.served.control.get(f"/api/projects/{project}/versions")
        assert reply.status_code == 200, reply.text
        return list(reply.json())

    def roll_back(self, project: str, version: str) -> subprocess.CompletedProcess[str]:
        """Go back to a version at once."""
        return self.served.bbops("rollback", version, "--now", "--project", project)

    def tags(self, project: str) -> list[str]:
        """Return the tags of a project's repository."""
        return git(self.bare(project), "tag").split()


def _is_ready(told: dict[str, Any]) -> bool:
    said = {one["type"]: one["status"] for one in told["conditions"]}
    return bool(said["Ready"]) and not said["Reconciling"] and not said["Stalled"]
