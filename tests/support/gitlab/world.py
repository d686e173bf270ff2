"""The state of the stand-in for GitLab, and the differences from GitHub."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from tests.support.forge_api import TIME
from tests.support.github import bare
from tests.support.github.facts import Pull, Repo, Review, Status
from tests.support.github.webhooks import Delivery, Webhooks
from tests.support.github.world import GitHubWorld, Refused
from tests.support.served import git

LEVELS: Final = {"admin": 40, "maintain": 40, "write": 30, "read": 20}
"""The access level of each role."""

_EVENTS: Final = {"push": "Push Hook"}


@dataclass(frozen=True)
class Version:
    """A version of a merge request; an event names its pusher, unless it is empty."""

    id: int
    number: int
    head: str
    base: str
    pusher: str = ""


@dataclass
class Environment:
    """An environment; `url` is empty until it is set."""

    id: int
    name: str
    url: str = ""
    is_stopped: bool = False


class GitLabWorld(GitHubWorld):
    """One project with its forks, users and tokens.

    Attributes:
        is_paid: whether the project has approval rules.
        has_times: whether approvals have their time, as since GitLab 18.5.
        style: the merge method of the project.
        pusher: the user of each push to a merge request; empty without events of pushes.
        invited: the groups that were invited to the project.
        versions: the versions of all merge requests.
        squashes: by number, the squash commit of a merge request.
        environments: the environments.
        jobs: the ids of the statuses that are jobs, with the ids of their pipelines.
    """

    git_right = "api: write"

    def __init__(self, folder: Path, name: str = "acme/backend/shop") -> None:
        super().__init__(folder, name)
        self.webhooks.stop()
        self.webhooks = Webhooks(_headers)
        self.is_paid = self.has_times = True
        self.style, self.pusher = "merge", ""
        self.invited: set[str] = set()
        self.versions: list[Version] = []
        self.squashes: dict[int, str] = {}
        self.environments: list[Environment] = []
        self.jobs: dict[int, int] = {}

    def add_token(
        self, who: str = "bbops-bot", rights: Mapping[str, str] | None = None, *,
        scopes: str | None = None,
    ) -> str:  # fmt: skip
        """Return a new token of a user; `rights` are its scopes."""
        return super().add_token(who, {"api": "write"} if rights is None else rights, scopes=scopes)

    def time_of(self, number: int) -> str:
        """Return the time at which something with an id was made; later ids are later."""
        return (datetime.fromisoformat(TIME) + timedelta(milliseconds=number)).isoformat()

    def id_of(self, login: str) -> int:
        """Return the id of a user, a new one for a new login."""
        found = next((number for number, name in self.accounts.items() if name == login), 0)
        if not found:
            found = self.new_id()
            self.accounts[found] = login
        return found

    def run_job(self, commit: str, name: str, state: str, who: str = "ada") -> Status:
        """Run a job of a commit's pipeline; a job `trigger …` starts another pipeline."""
        job = Status(self.new_id(), commit, name, state, who)
        known = (self.jobs[each.id] for each in self.list_jobs(commit))
        self.jobs[job.id] = next(known, 0) or self.new_id()
        self.statuses.append(job)
        return job

    def list_jobs(self, commit: str) -> list[Status]:
        """Return the jobs of a commit, oldest first."""
        return [each for each in self.statuses if each.id in self.jobs and each.commit == commit]

    def level(self, login: str) -> int:
        """Return the access level of a user; 0 for a stranger."""
        return LEVELS.get(self.role(login), 0)

    def groups(self) -> Iterator[str]:
        """Yield the groups with access to the project: those that it is in, and invited groups."""
        parts = self.repo.name.split("/")[:-1]
        yield from ("/".join(parts[: end + 1]) for end in range(len(parts)))
        yield from self.invited

    def find_project(self, number: int) -> Repo | None:
        """Return the repository or fork of an id."""
        return next((repo for repo in (self.repo, *self.forks.values()) if repo.id == number), None)

    def verdicts(self, number: int, state: str) -> Iterator[Review]:
        """Yield the newest reviews of users whose newest verdict this is."""
        newest = {
            review.who: review for review in self.reviews
            if review.number == number and review.state != "COMMENTED"
        }  # fmt: skip
        yield from (review for review in newest.values() if review.state == state)

    def commits(self, pull: Pull) -> list[str]:
        """Return the commits of a merge request, newest first."""
        return bare.new_commits(self.repo.path, pull.base, pull.head)[::-1]

    def find_environment(self, name: str) -> Environment:
        """Return the environment of a name, a new one if it is new."""
        for each in self.environments:
            if each.name == name:
                return each
        self.environments.append(Environment(self.new_id(), name))
        return self.environments[-1]

    def rebase(self, number: int) -> None:
        """Rebase the branch of a merge request, as its button does."""
        pull = self.find_pull(number)
        work = self.repo.path.with_suffix(".work")
        git(work, "fetch", "-q", "origin")
        git(work, "checkout", "-q", "--force", "--detach", f"origin/{pull.branch}")
        git(work, "rebase", "-q", f"origin/{pull.target}")
        git(work, "push", "-q", "--force", "origin", f"HEAD:refs/heads/{pull.branch}")
        self.sync()

    def _set_head(self, pull: Pull) -> None:
        bare.set_head(self.repo, pull, pull.head, "merge-requests")
        is_first = all(version.number != pull.number for version in self.versions)
        self._add_version(pull, "" if is_first else self.pusher)

    def retarget(self, number: int, target: str) -> None:
        """Change the target branch of a merge request, which makes a version."""
        with self.lock:
            super().retarget(number, target)
            self._add_version(self.find_pull(number))

    def _add_version(self, pull: Pull, pusher: str = "") -> None:
        path = self.repo.path
        base = git(path, "merge-base", f"refs/heads/{pull.target}", pull.head)
        self.versions.append(Version(self.new_id(), pull.number, pull.head, base, pusher))

    def _bring(self, pull: Pull, method: str) -> Sequence[str]:
        """Merge by the methods of GitLab: `rebase` is a fast-forward of a rebased branch."""
        path, target = self.repo.path, f"refs/heads/{pull.target}"
        tip = bare.refs(path)[target]
        if method == "rebase":
            if not bare.is_ancestor(path, tip, pull.head):
                raise Refused(405, "405 Method Not Allowed")
            git(path, "update-ref", target, pull.head, tip)
            return bare.new_commits(path, tip, pull.head)
        brought = bare.merge(self.repo, pull, method)
        if method == "squash":
            squash = self.squashes[pull.number] = brought[-1]
            identity = ("-c", "user.name=ada", "-c", "user.email=ada@example.com")
            tree = bare.tree(path, squash)
            merged = git(
                path, *identity, "commit-tree", tree, "-p", tip, "-p", squash, "-m", "Merge"
            )
            git(path, "update-ref", target, merged, squash)
            brought = [squash, merged]
        return brought


def _headers(delivery: Delivery) -> dict[str, str]:
    event = _EVENTS.get(delivery.event, "Merge Request Hook")
    return {
        "content-type": "application/json", "user-agent": "GitLab/18.5.0",
        "x-gitlab-event": event, "x-gitlab-event-uuid": delivery.id,
        "x-gitlab-token": delivery.hook.secret,
    }  # fmt: skip
