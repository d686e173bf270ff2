"""A project on a forge, with pull requests that real git merges, and the server that follows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import pytest

from bbops_server.forges.values import PullRequest
from tests.conftest import ROOT
from tests.support.forge_folder import ForgeState
from tests.support.patience import wait_for
from tests.support.pushing import make_repository
from tests.support.served import Served, git
from tests.support.small_project import FILES, hello

SCRIPT = ROOT / "tests/support/serve_with_forge.py"
RULES = "review: { main: proposals, source: forge, approvals: 1 }\n"
Way = Literal["merge", "squash", "rebase"]


@dataclass(frozen=True)
class Topic:
    """A branch that is proposed, in `refs/pull/NUMBER/head`."""

    number: int
    head: str
    base: str


class ForgeProject:
    """A bare repository with its forge, a clone of it, and a server."""

    def __init__(
        self, folder: Path, rules: str = RULES, *, files: dict[str, str] | None = None,
        has_forge: bool = True,
    ) -> None:  # fmt: skip
        self.folder, self.bare, self.work = folder, folder / "forge.git", folder / "work"
        make_repository(self.bare, bare=True)
        git(folder, "clone", "-q", str(self.bare), str(self.work))
        settings = {"project.yaml": FILES["project.yaml"] + rules}
        self.start_commit = self.commit({**settings, **(files or {})})
        git(self.work, "push", "-q", "origin", "HEAD:refs/heads/main")
        self.forge = ForgeState(folder / "forge")
        self.numbers = 0
        self.has_forge = has_forge
        self.served = self.serve()
        self.served.live()

    def serve(self) -> Served:
        """Start a server of the repository."""
        env = {"FORGE_FOLDER": str(self.forge.folder)} if self.has_forge else {}
        return Served(
            self.bare, self.folder / "home", address=self.bare.as_uri(), env=env, script=SCRIPT
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.served.stop()

    # ---- git
    def commit(self, files: dict[str, str], *options: str) -> str:
        """Commit files in the clone; options are those of git."""
        for name, text in files.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        git(self.work, "add", "-A")
        sign = ("-S",) if options else ()
        git(self.work, *options, "commit", "-q", *sign, "-m", "Change")
        return git(self.work, "rev-parse", "HEAD")

    def propose(self, *changes: dict[str, str], options: tuple[str, ...] = ()) -> Topic:
        """Push a commit for each change as the head of a new pull request."""
        base = git(self.work, "rev-parse", "main")
        self.numbers += 1
        git(self.work, "switch", "-qc", f"topic{self.numbers}", "main")
        for files in changes or (hello(100 + self.numbers),):
            head = self.commit(files, *options)
        git(self.work, "switch", "-q", "main")
        git(self.work, "push", "-q", "-f", "origin", f"{head}:refs/pull/{self.numbers}/head")
        return Topic(self.numbers, head, base)

    def merge(self, topic: Topic, way: Way = "merge") -> str:
        """Merge a pull request as a forge does, without a push; return the commit."""
        if way == "merge":
            git(self.work, "merge", "-q", "--no-ff", "-m", f"Merge #{topic.number}", topic.head)
        elif way == "squash":
            git(self.work, "merge", "-q", "--squash", topic.head)
            git(self.work, "commit", "-qm", f"Squash #{topic.number}")
        else:
            git(self.work, "cherry-pick", "--allow-empty", f"{topic.base}..{topic.head}")
        return git(self.work, "rev-parse", "main")

    def record(self, topic: Topic, merged: str, before: str, **change: Any) -> None:
        """Make the forge know a merged pull request, with the commits of the branch after it."""
        brought = git(self.work, "rev-list", "--first-parent", f"{before}..{merged}").split()
        fields = {
            "number": topic.number, "title": "", "state": "merged", "author": "ada",
            "head": topic.head, "branch": "topic", "target": "main",
            "url": f"https://forge.example/pull/{topic.number}", "merged": merged, **change,
        }  # fmt: skip
        self.forge.add(PullRequest(**fields), *brought)

    def land(self, topic: Topic, way: Way = "merge", *, by: str = "bob", **change: Any) -> str:
        """Merge, approve and push a pull request; return the commit."""
        before = git(self.work, "rev-parse", "main")
        merged = self.merge(topic, way)
        self.record(topic, merged, before, **change)
        if by:
            self.forge.review(topic.number, by, topic.head)
        self.push()
        return merged

    def push(self, *options: str) -> str:
        """Push the clone's main."""
        git(self.work, "push", "-q", *options, "origin", "main")
        return git(self.work, "rev-parse", "main")

    # ---- the server
    def live(self) -> str:
        """Return the commit that is live."""
        return str(self.served.status()["applied_revision"]).rpartition(":")[2]

    def until_live(self, commit: str) -> None:
        """Wait until a commit is live."""
        try:
            wait_for(lambda: self.live() == commit)
        except AssertionError:
            raise AssertionError((commit, self.served.status())) from None

    def until_stalled(self, commit: str, reason: str, text: str = "") -> str:
        """Wait until a commit is on hold for a reason; return the message with its hint."""

        def find() -> str:
            status = self.served.status()
            stalled = self.served.condition("Stalled")
            is_new = str(status["attempted_revision"]).endswith(commit)
            is_held = stalled["status"] and stalled["reason"] == reason
            return stalled["message"] if is_new and is_held and text in stalled["message"] else ""

        return wait_for(find)

    def reconcile(self) -> None:
        """Request another attempt."""
        self.served.control.post("/api/projects/small/reconcile")

    def accept(self, commit: str, live: str = "") -> None:
        """Accept a commit on hold; `live` is needed for several commits."""
        named = ("--range", f"{live}..{commit}") if live else (commit,)
        done = self.served.bbops("accept", *named)
        assert done.returncode == 0, done.stderr


Start = Callable[..., ForgeProject]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a project on a forge; its server ends with the test."""
    started: list[ForgeProject] = []

    def make(*arguments: str, **options: Any) -> ForgeProject:
        started.append(ForgeProject(tmp_path, *arguments, **options))
        return started[-1]

    yield make
    for project in started:
        project.served.stop()
