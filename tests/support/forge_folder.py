"""A forge whose answers are in a file: the boundary of a forge for tests of reviews.

A test writes `forge.json`; the forge reads it at each call, and adds the call to `calls`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bbops_server.forges.hosted import ForgeAway, ForgeForbidden
from bbops_server.forges.values import BranchRules, CheckState, PullRequest, PullReview

AT = datetime(2026, 1, 1, tzinfo=UTC)
START: dict[str, Any] = {
    "pulls": {}, "brought": {}, "reviews": {}, "authors": {}, "checks": {}, "teams": {},
    "writers": ["ada", "bob", "eve", "robot"], "rules": {}, "error": "",
}  # fmt: skip


class ForgeFolder:
    """The part of a HostedForge that reviews use."""

    repository, url = "acme/shop", "https://forge.example"
    capabilities = frozenset({"teams"})
    pull_ref = "refs/pull/{number}/head"

    def __init__(self, folder: Path) -> None:
        self._file, self._calls = folder / "forge.json", folder / "calls"

    async def find_merged(self, commit: str) -> Sequence[PullRequest]:
        """Return the merged pull requests that brought a commit."""
        state = self._read("find_merged", commit)
        return [
            PullRequest(**state["pulls"][number]) for number in state["brought"].get(commit, ())
        ]

    async def list_reviews(self, number: int) -> Sequence[PullReview]:
        """Return the reviews of a pull request."""
        reviews = self._read("list_reviews", number)["reviews"].get(str(number), ())
        return [PullReview(*review, AT) for review in reviews]

    async def list_authors(self, number: int) -> frozenset[str]:
        """Return the authors of a pull request's commits."""
        return frozenset(self._read("list_authors", number)["authors"].get(str(number), ()))

    async def read_rules(self, branch: str) -> BranchRules:
        """Return the rules of a branch."""
        rules = self._read("read_rules", branch)["rules"]
        return BranchRules(**{**rules, "checks": frozenset(rules.get("checks", ()))})

    async def list_checks(self, commit: str) -> Mapping[str, CheckState]:
        """Return the checks of a commit."""
        checks: Mapping[str, CheckState] = self._read("list_checks", commit)["checks"].get(
            commit, {}
        )
        return checks

    async def may_write(self, login: str) -> bool:
        """Return whether a user may write."""
        return login in self._read("may_write", login)["writers"]

    async def is_team_member(self, team: str, login: str) -> bool:
        """Return whether a user is in a team."""
        return login in self._read("is_team_member", team, login)["teams"].get(team, ())

    async def bot_logins(self) -> frozenset[str]:
        """Return the login of the server."""
        return frozenset({"robot"})

    async def list_open(self, target: str) -> Sequence[PullRequest]:
        """Return no open pull requests."""
        del target
        return ()

    async def find_deployment(self, environment: str, commit: str) -> str:
        """Return no deployment."""
        del environment, commit
        return ""

    async def deploy(self, deployment: object, known: str = "") -> str:
        """Take a deployment."""
        del deployment, known
        return "1"

    async def release(self, release: object) -> None:
        """Take a release."""

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""

    def _read(self, *call: object) -> dict[str, Any]:
        with self._calls.open("a") as calls:
            calls.write(" ".join(map(str, call)) + "\n")
        state: dict[str, Any] = json.loads(self._file.read_text())
        if state["error"] == "away":
            raise ForgeAway("the forge does not respond", wait_seconds=1)
        if state["error"] == "forbidden":
            raise ForgeForbidden("the token is not valid", hint="make a new one")
        return state


class ForgeState:
    """The file of a ForgeFolder, for tests."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.change(**START)

    def read(self) -> dict[str, Any]:
        """Return the state of the forge."""
        state: dict[str, Any] = json.loads((self.folder / "forge.json").read_text())
        return state

    def change(self, **parts: Any) -> None:
        """Replace parts of the state."""
        file = self.folder / "forge.json"
        state = self.read() if file.exists() else {}
        new = file.with_suffix(".new")
        new.write_text(json.dumps({**state, **parts}))
        new.replace(file)

    def add(self, pull: PullRequest, *brought: str) -> None:
        """Add a merged pull request, which brought commits to its target."""
        state, number = self.read(), str(pull.number)
        known = {commit: [number] for commit in brought}
        self.change(
            pulls={**state["pulls"], number: asdict(pull)}, brought={**state["brought"], **known}
        )

    def review(self, number: int, who: str, head: str, verdict: str = "approved") -> None:
        """Add a review."""
        reviews = self.read()["reviews"]
        old = reviews.get(str(number), [])
        self.change(reviews={**reviews, str(number): [*old, [who, verdict, head]]})

    def calls(self) -> list[str]:
        """Return the calls since the last time."""
        file = self.folder / "calls"
        calls = file.read_text().splitlines() if file.exists() else []
        file.write_text("")
        return calls
