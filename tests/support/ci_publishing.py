"""A server whose projects trust an issuer on loopback, and jobs that publish with its tokens."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.support import warm
from tests.support.ci_issuer import JOB_KEY, OWNER, REPOSITORY, CiIssuer
from tests.support.pushing import make_repository
from tests.support.served import environment, git
from tests.support.several import Several
from tests.support.small_project import hello, write_project

FILE = """
projects:
  shop:
    repository: ./shop
    ci:
      - {{ issuer: "{url}", repositoryId: {repository}, ownerId: {owner} }}
      - issuer: "{url}"
        repositoryId: {repository}
        ownerId: {owner}
        ref: refs/pull/*/merge
"""


class CiServer(Several):
    """A server of the bare repository `shop`, of which `work` is a clone."""

    def __init__(self, folder: Path, issuer: CiIssuer) -> None:
        self.issuer, self.root = issuer, folder
        self.bare = folder / "server" / "shop"
        (folder / "server").mkdir()
        make_repository(self.bare, bare=True)
        self.work, self.job = folder / "work", folder / "job"
        git(folder, "clone", "-q", str(self.bare), str(self.work))
        self.job.mkdir()
        text = FILE.format(url=issuer.url, repository=REPOSITORY, owner=OWNER)
        super().__init__(folder / "server", text)
        self.until("live", "shop")

    def push(self, changes: dict[str, str], branch: str = "main", *options: str) -> str:
        """Push a commit with changed files; return its id."""
        write_project(self.work, changes)
        git(self.work, "add", "-A")
        git(self.work, "commit", "-qm", "Change")
        git(self.work, "push", "-q", *options, "origin", f"HEAD:refs/heads/{branch}")
        return git(self.work, "rev-parse", "HEAD")

    def next(self, version: int, branch: str = "main") -> str:
        """Push a commit whose /hello has this version."""
        return self.push(hello(version), branch)

    def run(
        self, command: str, *arguments: str, commit: str, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Run `bbops ci COMMAND` in a job of GitHub for a push of a commit to main."""
        variables = environment(self.job) | {
            "GITHUB_ACTIONS": "true", "GITHUB_SHA": commit, "GITHUB_REF": "refs/heads/main",
            "GITHUB_REF_NAME": "main", "GITHUB_REF_TYPE": "branch", "GITHUB_EVENT_NAME": "push",
            "GITHUB_REPOSITORY": "octo-org/octo-repo", "GITHUB_RUN_ID": "1658821493",
            "GITHUB_OUTPUT": str(self.job / "outputs"), "RUNNER_TEMP": str(self.job / "temp"),
            "GITHUB_STEP_SUMMARY": str(self.job / "summary"),
            "BBOPS_SERVER": self.serving["control_url"],
            "ACTIONS_ID_TOKEN_REQUEST_URL": f"{self.issuer.url}/token?api-version=2.0",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": JOB_KEY,
        } | env  # fmt: skip
        given = {name: value for name, value in variables.items() if value}
        return warm.run(("ci", command, *arguments), cwd=self.job, env=given)

    def propose(self, branch: str, commit: str, repository: str = "octo-org/octo-repo") -> Any:
        """Return the variables of a pull request of a branch; also sets the claims of its job."""
        self.issuer.job_claims = {"ref": "refs/pull/7/merge", "event_name": "pull_request"}
        base = {"ref": "main", "sha": "a" * 40, "repo": {"full_name": "octo-org/octo-repo"}}
        head = {"ref": branch, "sha": commit, "repo": {"full_name": repository}}
        event = self.job / "event.json"
        event.write_text(json.dumps({"pull_request": {"number": 7, "head": head, "base": base}}))
        return {
            "GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": str(event),
            "GITHUB_REF": "refs/pull/7/merge", "GITHUB_REF_NAME": "7/merge",
            "GITHUB_HEAD_REF": branch, "GITHUB_BASE_REF": "main",
        }  # fmt: skip

    def outputs(self) -> dict[str, str]:
        """Return the outputs of the last command."""
        lines = (self.job / "outputs").read_text().splitlines()
        return {lines[at].partition("<<")[0]: lines[at + 1] for at in range(0, len(lines), 3)}
