"""Servers that take each other's place, and clients that keep their connections meanwhile."""

from __future__ import annotations

import http.client
import shutil
import socket
import subprocess
import threading
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from bbops_server.process.handover import place
from bbops_server.process.handover.protocol import (
    HandoverMessage,
    receive_descriptors,
    send_message,
)
from tests.conftest import ROOT
from tests.support.patience import PATIENCE_SECONDS
from tests.support.served import Served, environment, git
from tests.support.small_project import hello, write_project


def make_repository(folder: Path) -> Path:
    """Make the small project in a repository."""
    write_project(folder)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Start")
    return folder


def make_bare(folder: Path) -> Path:
    """Make the same without a work tree."""
    make_repository(folder.with_name("work"))
    git(folder.parent, "clone", "-q", "--bare", "work", str(folder))
    return folder


def commit_version(repository: Path, version: int) -> str:
    """Make `/hello` answer another version; return what answers of it carry."""
    write_project(repository, hello(version))
    git(repository, "commit", "-qam", f"Version {version}")
    return git(repository, "rev-parse", "HEAD")[:12]


def copy_of_another_version(folder: Path) -> dict[str, str]:
    """Copy what is installed, as another version with artifacts of another form.

    Returns:
        The environment in which it runs.
    """
    for package in (ROOT / "bbops", ROOT / "server/bbops_server"):
        shutil.copytree(package, folder / package.name, ignore=shutil.ignore_patterns("*.pyc"))
    for file, old, new in (
        ("bbops/__init__.py", '__version__ = "', '__version__ = "99.'),
        ("bbops/runtime/linking/release.py", 'FORMAT = f"', 'FORMAT = f"99 '),
    ):
        text = (folder / file).read_text()
        assert old in text
        (folder / file).write_text(text.replace(old, new))
    return {"PYTHONPATH": str(folder)}


class Client(threading.Thread):
    """Asks without pause on one connection, and makes a new one only where it was told to.

    A connection that ends in any other way, also between two requests, is a failure.
    """

    def __init__(self, url: str, over: threading.Event) -> None:
        super().__init__(daemon=True)
        self._address = urlsplit(url).netloc
        self._over = over
        self.answered = 0
        self.failures: list[str] = []
        self.releases: set[str] = set()

    def run(self) -> None:
        """Ask until it is over."""
        connection = http.client.HTTPConnection(self._address, timeout=PATIENCE_SECONDS)
        while not self._over.is_set():
            try:
                connection.request("GET", "/hello")
                reply = connection.getresponse()
                reply.read()
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(repr(error))
                connection.close()
            else:
                self.answered += 1
                self.releases.add(reply.headers.get("x-release", ""))
                if reply.status != 200:
                    self.failures.append(f"status {reply.status}")
        connection.close()


class Clients:
    """Several of them, and somebody who pushes; use it as a context."""

    def __init__(self, served: Served, number: int) -> None:
        self._over = threading.Event()
        self.each = [Client(served.serving["url"], self._over) for _ in range(number)]
        clone = served.home / "clones/small"
        self.pusher = Pusher(clone, served.serving["control_url"], self._over)

    def __enter__(self) -> Self:
        for one in (*self.each, self.pusher):
            one.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for one in (*self.each, self.pusher):
            one.join()

    @property
    def failures(self) -> list[str]:
        """Return what failed."""
        each = (*self.each, self.pusher)
        return [failure for one in each for failure in one.failures]


class Pusher(threading.Thread):
    """Pushes one version after the other to the server's own git; each must be live at its end."""

    def __init__(self, clone: Path, control_url: str, over: threading.Event) -> None:
        super().__init__(daemon=True)
        clone.parent.mkdir(exist_ok=True)
        git(clone.parent, "clone", "-q", f"{control_url}/git/small.git", str(clone))
        self._clone, self._over = clone, over
        self.pushed: list[str] = []
        self.failures: list[str] = []

    def run(self) -> None:
        """Push until it is over."""
        while not self._over.is_set():
            self.pushed.append(commit_version(self._clone, len(self.pushed) + 2))
            done = subprocess.run(
                ["git", "push"], cwd=self._clone, env=environment(self._clone.parent),
                capture_output=True, text=True, check=False, timeout=150,
            )  # fmt: skip
            if done.returncode or f"live: {self.pushed[-1]}" not in done.stderr:
                self.failures.append(done.stderr)
            self._over.wait(1)


def replace(old: Served, *arguments: str, **options: dict[str, str]) -> Served:
    """Take the place of a server; return the new one, once the old one has ended well."""
    new = Served(old.repository, old.home, "--replace", *arguments, **options)
    try:
        assert old.process.wait(PATIENCE_SECONDS) == 0
        assert old.stop() == 0
        assert (new.serving["url"], new.serving["control_url"]) == (
            old.serving["url"], old.serving["control_url"],
        )  # fmt: skip
    except BaseException:
        new.stop()
        raise
    return new


class FakeSuccessor:
    """Speaks the successor's part, word by word."""

    def __init__(self, state: Path, protocol: int = 1) -> None:
        self.end = place.connect(state, 60)
        send_message(self.end, {"protocol": protocol, "do": "take over", "pid": 4_194_300})
        self.told, self.descriptors = receive_descriptors(self.end)

    def say(self, word: HandoverMessage) -> HandoverMessage | None:
        """Say a word and return the answer."""
        send_message(self.end, word)
        return receive_descriptors(self.end)[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.vanish()

    def vanish(self) -> None:
        """End as a process that was killed."""
        self.end.close()
        while self.descriptors:
            socket.close(self.descriptors.pop())
