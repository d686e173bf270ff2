"""Git clients of a server: people with tokens, their clones, and what git prints to them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from bbops_server.accounts.book import Book
from bbops_server.accounts.people import NewPerson
from bbops_server.accounts.rules import Role, Scope
from tests.support.served import environment, git
from tests.support.several import Several
from tests.support.small_project import hello, write_project

BAD = {"functions/hello.yaml": "steps:\n  - return: { value: '${ vars.nobody }' }\n"}
SERVER = """
projects:
  shop: { repository: ./shop, pathPrefix: /shop }
  copy: { repository: ./copy, pathPrefix: /copy }
  left: { repository: ./both, path: left, pathPrefix: /left }
  right: { repository: ./both, path: right, pathPrefix: /right }
  away: { repository: "file://AWAY", pathPrefix: /away }
"""
"""Of a bare repository, of a work tree, two of one repository, and one that is kept elsewhere."""

ROLES = {
    "owner": ("owner", None), "maintainer": (None, Role.MAINTAINER),
    "developer": (None, Role.DEVELOPER), "viewer": (None, Role.VIEWER), "stranger": (None, None),
}  # fmt: skip


def make_repository(folder: Path, *, bare: bool, paths: tuple[str, ...] = ("",)) -> Path:
    """Make a repository of the small project, or of several in folders of it."""
    work = folder.with_name(f"{folder.name}.work") if bare else folder
    for path in paths:
        write_project(work / path)
    git(work, "init", "-q", "-b", "main")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "Start")
    if bare:
        git(work.parent, "clone", "-q", "--bare", str(work), str(folder))
    return folder


@dataclass(frozen=True)
class Printed:
    """What git printed, and how it ended."""

    code: int
    text: str


class Clone:
    """A clone of a project, by somebody."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url

    def git(self, *arguments: str, **env: str) -> Printed:
        """Run git as a user without a terminal does."""
        identity = ["-c", "user.name=bob", "-c", "user.email=bob@example.com"]
        done = subprocess.run(
            ["git", *identity, *arguments], cwd=self.folder, capture_output=True, text=True,
            check=False, timeout=60,
            env=environment(self.folder) | {"GIT_TERMINAL_PROMPT": "0"} | env,
        )  # fmt: skip
        printed = done.stdout + done.stderr
        return Printed(done.returncode, "\n".join(map(str.rstrip, printed.splitlines())))

    def commit(self, changes: dict[str, str], message: str = "Change") -> str:
        """Commit changed files and return the commit's id."""
        write_project(self.folder, changes)
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-qm", message)
        return git(self.folder, "rev-parse", "HEAD")

    def push(self, *arguments: str, **env: str) -> Printed:
        """Push, by default this branch to main."""
        return self.git("push", *(arguments or ("origin", "HEAD:main")), **env)

    def cut_off(self, what: str, seconds: float) -> None:
        """Begin to push, and kill the client a moment later."""
        process = subprocess.Popen(
            ["git", "push", "-q", "origin", what], cwd=self.folder, stderr=subprocess.DEVNULL,
            start_new_session=True, env=environment(self.folder),
        )  # fmt: skip
        time.sleep(seconds)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class World(Several):
    """A server of SERVER, on which everybody of ROLES has an account; nobody has one in `right`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.number = folder, 0
        make_repository(folder / "shop", bare=True)
        make_repository(folder / "copy", bare=False)
        make_repository(folder / "both", bare=True, paths=("left", "right"))
        super().__init__(folder, SERVER.replace("AWAY", str(folder / "shop")))
        self.book = Book.open(self.state)
        self.people = {name: self.add(name, *roles) for name, roles in ROLES.items()}
        self.until("live", "shop")

    def add(self, name: str, everywhere: str | None, here: Role | None) -> str:
        """Make an account and return its id."""
        role = Role(everywhere) if everywhere else None
        person = self.book.people.add(NewPerson(f"{name}@example.com", name, role=role))
        for project in ("shop", "copy", "left"):
            if here is not None:
                self.book.members.set_role(person.id, here, project)
        return person.id

    def token(self, name: str = "maintainer", **more: Any) -> str:
        """Return a new token of somebody, by default one for git."""
        scopes = more.pop("scopes", [Scope.GIT])
        return self.book.tokens.make(self.people[name], "test", scopes, **more)[0]

    def url(self, token: str = "", project: str = "shop") -> str:
        """Return the address of a project, with a token as the password."""
        url = httpx.URL(self.serving["control_url"])
        who = f"me:{token}@" if token else ""
        return f"http://{who}{url.host}:{url.port}/git/{project}.git"

    def clone(self, name: str = "maintainer", project: str = "shop", *options: str) -> Clone:
        """Return a new clone."""
        self.number += 1
        folder = self.folder / f"clone{self.number}"
        url = self.url(self.token(name), project)
        clone = Clone(self.folder, url)
        done = clone.git("clone", "-q", *options, url, str(folder))
        assert done.code == 0, done.text
        clone.folder = folder
        return clone

    def tip(self, ref: str = "refs/heads/main", project: str = "shop") -> str:
        """Return what a ref of the server's repository holds; empty for nothing."""
        return git(self.folder / project, "for-each-ref", "--format=%(objectname)", ref)

    def version(self, project: str = "shop") -> int:
        """Return the version that is live."""
        return int(self.api.get(f"/{project}/hello").json()["version"])

    def next_version(self) -> dict[str, str]:
        """Return a change that nobody has made yet."""
        self.number += 1
        return hello(self.number + time.monotonic_ns() % 1_000 * 100)

    def stop(self, *arguments: Any) -> int:
        """Close the book, too."""
        if self.process.returncode is None:
            self.book.close()
        return super().stop(*arguments)
