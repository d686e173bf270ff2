"""People whose rights come and go, two projects of one repository, and a mirror of a third.

What must be so at any time is told by what people were let do: see `Reviewing.settle`.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx

from bbops_server.accounts.rules import Role, Scope
from tests.support.patience import wait_for
from tests.support.processes import children
from tests.support.proposing import Asking
from tests.support.pushing import Clone, World
from tests.support.served import Served, git
from tests.support.small_project import FILES, hello, write_project

PEOPLE: Final = ("owner", "maintainer", "developer", "viewer", "stranger")
BOTH: Final = ("left", "right")
"""Projects in folders of one repository; `away` follows the repository of `shop`."""

RULE: Final = "review: { main: proposals, approvals: 1 }\n"
REVIEWED: Final = FILES["project.yaml"] + RULE


@dataclass
class Proposal:
    """One that was opened; `said` is who approved it as it is now."""

    number: int
    project: str
    author: str
    version: int
    said: set[str] = field(default_factory=set)


class Reviewing(World):
    """The world with a rule of review in each project, and a model of who may do what."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.versions = {"left": 0, "right": 0, "away": 0}
        self.open: list[Proposal] = []
        self.disabled: set[str] = set()
        self.roles: dict[tuple[str, str], Role | None] = {}
        for name in PEOPLE:
            for project in (*BOTH, "away"):
                self.set_role(name, project, Role(name) if name in ("maintainer", "developer",
                              "viewer") else None)  # fmt: skip
        self._sign_in()
        self.tokens = {name: self.token(name) for name in PEOPLE}
        self.asking = {(name, one): Asking(self, name, one) for name in PEOPLE for one in BOTH}
        self.upstream = folder / "shop"
        self._take_rule()
        self.live = {one: self.version(one) for one in self.versions}
        self.numbers = {one: len(self.minted(one)) for one in BOTH}

    def _sign_in(self) -> None:
        token = self.token("owner", scopes=[Scope.DEPLOY])
        self.control.headers["authorization"] = f"Bearer {token}"

    def _take_rule(self) -> None:
        work = self.folder / "mono"
        git(self.folder, "clone", "-q", str(self.folder / "both"), str(work))
        for one in BOTH:
            write_project(work / one, {"project.yaml": REVIEWED})
        git(work, "add", "-A")
        git(work, "commit", "-qm", "Take proposals alone")
        git(work, "push", "-q", "origin", "main")
        self.mirrored = self.push_upstream(1)
        tips = dict.fromkeys(BOTH, self.tip(project="both")) | {"away": self.mirrored}
        for one, tip in tips.items():
            wait_for(lambda one=one, tip=tip: str(self.told(one)["applied_revision"]).endswith(tip))

    def restart(self, how: int = signal.SIGTERM) -> None:
        """End the server, and start it again once no process of it is left."""
        found = children(self.process.pid)
        Served.stop(self, how)
        for one in found:
            wait_for(lambda one=one: not Path(f"/proc/{one}/cmdline").exists())
        Served.__init__(self, self.file, self.home)
        self._sign_in()
        for asking in self.asking.values():
            port = httpx.URL(self.serving["control_url"]).port
            asking.url = str(httpx.URL(asking.url).copy_with(port=port))

    # ---- what people do
    def may(self, name: str, project: str, least: Role) -> bool:
        """Return whether somebody has the right now."""
        if name == "owner":
            return True
        roles = [self.roles[name, one] for one in BOTH]
        if name in self.disabled or None in roles:  # who reads one of both reads the other
            return False
        role = self.roles[name, project]
        return role is not None and role.rank >= least.rank

    def count(self, one: Proposal) -> set[str]:
        """Return whose approval counts now: an author's only where nobody else may review."""
        able = {who for who in PEOPLE if self.may(who, one.project, Role.DEVELOPER)}
        return {who for who in one.said & able if who != one.author or able == {who}}

    def set_role(self, name: str, project: str, role: Role | None) -> None:
        """Give somebody another role, or none."""
        self.roles[name, project] = role
        self.book.members.set_role(self.people[name], role, project)

    def disable(self, name: str, *, disabled: bool) -> None:
        """Lock somebody out, or let them in again."""
        self.book.people.disable(self.people[name], disabled=disabled)
        if disabled:
            self.disabled.add(name)
            return
        self.disabled.discard(name)  # tokens ended with the account
        self.tokens[name] = self.token(name)
        self.asking |= {(name, one): Asking(self, name, one) for one in BOTH}

    def change(self, project: str, *others: str) -> tuple[Clone, int]:
        """Return a clone, by nobody yet, with a new version of some projects in a commit."""
        self.number += 1
        clone = Clone(self.folder / f"clone{self.number}", "")
        git(self.folder, "clone", "-q", str(self.folder / "both"), str(clone.folder))
        version = 1_000 + self.number
        for one in (project, *others):
            write_project(clone.folder / one, {"project.yaml": REVIEWED, **hello(version)})
        git(clone.folder, "commit", "-qam", f"Version {version} of {project}")
        return clone, version

    def push(self, clone: Clone, name: str, project: str, to: str) -> str:
        """Push as somebody; return what git printed where that was taken, else nothing."""
        done = clone.push(self.url(self.tokens[name], project), f"HEAD:{to}")
        return done.text if done.code == 0 else ""

    def push_upstream(self, version: int) -> str:
        """Push to the repository that the mirror follows; return the commit."""
        work = self.folder / "upstream"
        if not work.exists():
            git(self.folder, "clone", "-q", str(self.upstream), str(work))
        git(work, "pull", "-q")
        write_project(work, {"project.yaml": REVIEWED, **hello(version)})
        git(work, "commit", "-qam", "Upstream")
        git(work, "push", "-q", "origin", "main")
        self.control.post("/api/projects/away/reconcile")
        return git(work, "rev-parse", "HEAD")

    # ---- what must be so
    def settle(self) -> None:
        """Wait until each project serves what it must, and see that no other version is there."""
        for one, version in self.live.items():
            wait_for(lambda one=one, version=version: self.version(one) == version)
        for one in BOTH:
            assert len(self.minted(one)) == self.numbers[one], one

    def minted(self, project: str) -> list[str]:
        """Return the versions of a project."""
        reply = self.control.get(f"/api/projects/{project}/versions")
        assert reply.status_code == 200, reply.text
        return [one["name"] for one in reply.json()]
