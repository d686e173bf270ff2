"""The state of the stand-in for GitHub, and what its users do there."""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import wraps
from pathlib import Path
from threading import RLock
from typing import Concatenate, ParamSpec, TypeVar

from tests.support.forge_api import TIME
from tests.support.github import bare
from tests.support.github.facts import (
    App,
    Comment,
    Deployed,
    Grant,
    Pull,
    Released,
    Repo,
    Review,
    Rules,
    Run,
    Status,
)
from tests.support.github.webhooks import Webhooks
from tests.support.served import git

P = ParamSpec("P")
T = TypeVar("T")
WRITERS = ("admin", "maintain", "write")


def system_time() -> datetime:
    return datetime.now(UTC)


def locked(
    method: Callable[Concatenate[GitHubWorld, P], T],
) -> Callable[Concatenate[GitHubWorld, P], T]:
    """Let a user's action happen between two requests, not during one."""

    @wraps(method)
    def wrapped(world: GitHubWorld, *args: P.args, **options: P.kwargs) -> T:
        with world.lock:
            return method(world, *args, **options)

    return wrapped


class Refused(Exception):
    """GitHub refuses a request, with a status and a message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class GitHubWorld:
    """One repository with its forks, users, tokens and one App.

    Attributes:
        accounts: logins by the id that sign-in reports.
        clock: returns the time, which tests replace.
        old_names: former names of the repository.
        retargets: the number of a pull request and the id of the event, for each new target.
        manifests: the App and its private key, by the code of its manifest.
        teams: the members of each team, such as `acme/backend`.
        git_right: the right of a token for pushes.
    """

    git_right = "contents: write"

    def __init__(self, folder: Path, name: str = "acme/shop") -> None:
        self.lock = RLock()
        self.folder = folder
        self.clock: Callable[[], datetime] = system_time
        self.repo = Repo(1001, name, folder / f"{name}.git")
        bare.init(self.repo.path)
        self.forks: dict[str, Repo] = {}
        self.old_names: set[str] = set()
        self.teams: dict[str, set[str]] = {}
        self.accounts: dict[int, str] = {}
        self.queue: list[Pull] = []
        self.grants: dict[str, Grant] = {}
        self.app: App | None = None
        self.manifests: dict[str, tuple[App, str]] = {}
        self.webhooks = Webhooks()
        self.pulls: list[Pull] = []
        self.reviews: list[Review] = []
        self.retargets: list[tuple[int, int]] = []
        self.comments: list[Comment] = []
        self.statuses: list[Status] = []
        self.runs: list[Run] = []
        self.deployments: list[Deployed] = []
        self.releases: list[Released] = []
        self._refs: dict[str, str] = {}
        self._last_id = 5_000
        self.fetches = 0
        """The number of times that a git client has read the branches."""

    def now(self) -> datetime:
        return self.clock()

    def new_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def add_token(
        self, who: str = "bbops-bot", rights: Mapping[str, str] | None = None, *,
        scopes: str | None = None,
    ) -> str:  # fmt: skip
        """Return a new token of a user."""
        token = f"github_pat_{secrets.token_hex(20)}"
        grant = Grant(who, scopes=scopes)
        self.grants[token] = grant if rights is None else replace(grant, rights=rights)
        self.repo.roles.setdefault(who, "write")
        return token

    def end_tokens(self) -> None:
        """Revoke every token."""
        self.grants.clear()

    def rename(self, name: str) -> None:
        """Rename the repository; its old name redirects."""
        with self.lock:
            self.old_names.add(self.repo.name)
            self.repo.name = name
            self.webhooks.emit("repository", {"action": "renamed"}, self.repo.name)

    def fork(self, owner: str) -> Repo:
        """Return the fork of a user."""
        name = f"{owner}/{self.repo.name.partition('/')[2]}"
        if name not in self.forks:
            path = self.folder / f"{name}.git"
            bare.fork(self.repo.path, path)
            self.forks[name] = Repo(self.new_id(), name, path, parent=self.repo.name)
        return self.forks[name]

    def main(self) -> str:
        """Return the newest commit of the default branch."""
        return bare.refs(self.repo.path)[f"refs/heads/{self.repo.default}"]

    def read(self, commit: str, path: str) -> str:
        """Return the text of a file in a commit."""
        return git(self.repo.path, "show", f"{commit}:{path}")

    def find_repo(self, name: str) -> Repo | None:
        """Return the repository or fork of a name, also of a former one."""
        is_own = name == self.repo.name or name in self.old_names
        return self.repo if is_own else self.forks.get(name)

    def find_pull(self, number: int) -> Pull:
        """Return a pull request. Raises: Refused: it does not exist."""
        if not 0 < number <= len(self.pulls):
            raise Refused(404, "Not Found")
        return self.pulls[number - 1]

    def role(self, login: str) -> str:
        """Return the role of a user; `none` for a stranger."""
        return self.repo.roles.get(login, "none")

    @locked
    def open_pull(
        self, author: str, branch: str, title: str = "Change", *, target: str = "main",
        body: str = "", home: Repo | None = None, is_draft: bool = False,
    ) -> Pull:  # fmt: skip
        """Open a pull request of a pushed branch. Raises: Refused: GitHub would not."""
        source = home or self.repo
        head = bare.refs(source.path).get(f"refs/heads/{branch}")
        base = bare.refs(self.repo.path).get(f"refs/heads/{target}")
        if head is None or base is None:
            raise Refused(422, f"{'head' if head is None else 'base'} invalid")
        if head == base:
            raise Refused(422, f"No commits between {target} and {branch}")
        for pull in self.pulls:
            if (pull.state, pull.home, pull.branch, pull.target) == ("open", home, branch, target):
                label = f"{source.owner}:{branch}"
                raise Refused(422, f"A pull request already exists for {label}.")
        pull = Pull(
            len(self.pulls) + 1, title, body, author, home, branch, target, head, base, is_draft
        )
        self.pulls.append(pull)
        self._set_head(pull)
        self._emit_pull(pull, "opened")
        return pull

    @locked
    def review(self, number: int, who: str, state: str = "APPROVED") -> Review:
        """Add a review of the current head. Raises: Refused: an author approves own work."""
        pull = self.find_pull(number)
        if pull.author == who and state == "APPROVED":
            raise Refused(422, "Can not approve your own pull request")
        review = Review(self.new_id(), number, who, state, pull.head)
        self.reviews.append(review)
        self.webhooks.emit("pull_request_review", {"action": "submitted"}, self.repo.name)
        return review

    @locked
    def retarget(self, number: int, target: str) -> None:
        """Change the target branch of a pull request."""
        pull = self.find_pull(number)
        pull.target, pull.base = target, bare.refs(self.repo.path)[f"refs/heads/{target}"]
        self.retargets.append((number, self.new_id()))
        self._emit_pull(pull, "edited")

    def time_of(self, number: int) -> str:
        """Return the time at which something with an id was made; later ids are later."""
        return (datetime.fromisoformat(TIME) + timedelta(seconds=number)).isoformat()

    @locked
    def close(self, number: int) -> None:
        """Close a pull request without a merge."""
        pull = self.find_pull(number)
        if pull.state == "open":
            pull.state = "closed"
            self._emit_pull(pull, "closed")

    @locked
    def merge(
        self, number: int, who: str, method: str = "merge", head: str = "", *,
        by_queue: bool = False,
    ) -> str:  # fmt: skip
        """Merge a pull request by the rules; return the commit. Raises: Refused: they block it."""
        pull = self.find_pull(number)
        if self.repo.rules.has_queue and not by_queue:
            raise Refused(405, "Changes must be made through the merge queue")
        if pull.state != "open" or pull.is_draft:
            raise Refused(405, "Pull Request is not mergeable")
        if head and head != pull.head:
            raise Refused(409, "Head branch was modified. Review and try the merge again.")
        if method not in self.repo.methods:
            raise Refused(405, f"{method.title()} commits are not allowed on this repository.")
        for rules in (self.repo.rules, self.repo.classic or Rules()):
            self._require(pull, rules)
        with self.lock:  # else a request meanwhile takes it for a push
            try:
                pull.brought = self._bring(pull, method)
            except subprocess.CalledProcessError:
                raise Refused(405, "Pull Request is not mergeable") from None
            self._close_as_merged(pull, who, pull.brought[-1])
            self.sync()
        return pull.merge_commit

    def enter_queue(self, node: str, head: str) -> None:
        """Add a pull request to the merge queue. Raises: Refused: the rules block it."""
        pull = self.find_pull(int(node.removeprefix("PR_")))
        if head != pull.head:
            raise Refused(422, "Head sha didn't match expected sha")
        if pull in self.queue:
            raise Refused(422, "Pull request is already in the queue")
        self._require(pull, self.repo.rules)
        self.queue.append(pull)

    def work_queue(self) -> None:
        """Merge the pull requests in the queue, oldest first."""
        for pull in tuple(self.queue):
            self.merge(pull.number, "github-merge-queue[bot]", by_queue=True)
            self.queue.remove(pull)

    def approvers(self, pull: Pull) -> set[str]:
        """Return the users with write access whose last review approves."""
        last = {
            review.who: review.state for review in self.reviews
            if review.number == pull.number and review.state != "COMMENTED"
        }  # fmt: skip
        return {
            who for who, state in last.items() if state == "APPROVED" and self.role(who) in WRITERS
        }

    def checks(self, commit: str) -> dict[str, str]:
        """Return the newest result of each check and status."""
        runs = {run.name: run.conclusion or "pending" for run in self.runs if run.commit == commit}
        mine = [status for status in self.statuses if status.commit == commit]
        return {**runs, **{status.context: status.state for status in mine}}

    def sync(self) -> None:
        """Take over what was pushed: heads of pull requests, and events for webhooks."""
        with self.lock:
            before, self._refs = self._refs, bare.refs(self.repo.path)
            changed = {
                ref for ref in {*before, *self._refs} if before.get(ref) != self._refs.get(ref)
            }
            for pull in self.pulls:
                if pull.state == "open":
                    self._sync_pull(pull)
            for ref in sorted(changed):
                after = self._refs.get(ref, "0" * 40)
                body = {"ref": ref, "before": before.get(ref, "0" * 40), "after": after}
                self.webhooks.emit("push", body, self.repo.name)

    def _sync_pull(self, pull: Pull) -> None:
        source = pull.home or self.repo
        head = bare.refs(source.path).get(f"refs/heads/{pull.branch}")
        tip = self._refs.get(f"refs/heads/{pull.target}", "")
        if head is None:
            self.close(pull.number)
        elif head != pull.head:
            pull.head = head
            self._set_head(pull)
            if self.repo.rules.dismisses_stale:
                self.dismiss(pull.number)
            self._emit_pull(pull, "synchronize")
        if head and tip and bare.is_ancestor(self.repo.path, head, tip):
            pull.brought = bare.new_commits(self.repo.path, pull.base, tip)
            self._close_as_merged(pull, "web-flow", head)

    def _set_head(self, pull: Pull) -> None:
        """Set the ref of a pull request's head."""
        bare.set_head(self.repo, pull, pull.head)

    def _bring(self, pull: Pull, method: str) -> Sequence[str]:
        """Merge by git; return the new commits. Raises: CalledProcessError: they conflict."""
        return bare.merge(self.repo, pull, method)

    def dismiss(self, number: int) -> None:
        """Dismiss the approvals of a pull request."""
        for review in self.reviews:
            if review.number == number and review.state == "APPROVED":
                review.state = "DISMISSED"

    def _require(self, pull: Pull, rules: Rules) -> None:
        count = rules.approvals
        if len(self.approvers(pull) - {pull.author}) < count:
            raise Refused(
                405,
                f"At least {count} approving review is required by reviewers with write access.",
            )
        checks = self.checks(pull.head)
        for name in rules.checks:
            if checks.get(name) not in {"success", "neutral", "skipped"}:
                raise Refused(405, f'Required status check "{name}" is expected.')

    def _close_as_merged(self, pull: Pull, who: str, commit: str) -> None:
        pull.state, pull.merged_by, pull.merge_commit = "closed", who, commit
        self._emit_pull(pull, "closed")

    def _emit_pull(self, pull: Pull, action: str) -> None:
        body = {"action": action, "number": pull.number}
        self.webhooks.emit("pull_request", body, self.repo.name)


def push(
    repo: Repo, branch: str, files: Mapping[str, str], *, who: str = "ada", message: str = "Change",
    start: str = "main", is_forced: bool = False,
) -> str:  # fmt: skip
    """Commit files to a branch by git as a user would; return the commit."""
    work = repo.path.with_suffix(".work")
    if not work.exists():
        git(repo.path.parent, "clone", "-q", str(repo.path), str(work))
    git(work, "fetch", "-q", "--prune", "origin")
    known = git(work, "branch", "-r", "--format=%(refname:lstrip=3)").split()
    base = branch if branch in known and not is_forced else start
    if known:
        git(work, "checkout", "-q", "--force", "--detach", f"origin/{base}")
    for name, text in files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    git(work, "add", "-A")
    identity: Sequence[str] = ("-c", f"user.name={who}", "-c", f"user.email={who}@example.com")
    git(work, *identity, "commit", "-q", "--allow-empty", "-m", message)
    force = ["--force"] if is_forced else []
    git(work, "push", "-q", *force, "origin", f"HEAD:refs/heads/{branch}")
    return git(work, "rev-parse", "HEAD")
