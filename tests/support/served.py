"""A real `bbops serve` on a real repository, for tests that look at it from outside."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any, Self

import httpx

from bbops.interfaces.cli.init import template_files
from bbops.source.git import store
from tests.support import warm
from tests.support.patience import PATIENCE_SECONDS

LIST = "functions/notes/list.yaml"
PAGE = "page: ${ query.page }"
ADA = {"email": "ada@example.com", "password": "correct horse", "name": "Ada"}


def environment(home: Path) -> dict[str, str]:
    """Return an environment in which nobody's settings or identity are found."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return kept | {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "config"), "NO_COLOR": "1"}


def git(folder: Path, *arguments: str) -> str:
    """Run git as a user would."""
    identity = ["-c", "user.name=ada", "-c", "user.email=ada@example.com"]
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def make_project(folder: Path) -> Path:
    """Make the template's project in a repository."""
    store.init(folder, template_files("sample"), message="Start")
    return folder


class Served:
    """Starts the server, reads its events, asks it, stops it."""

    verb = "serve"

    def __init__(
        self, repository: Path, home: Path, *arguments: str, address: str = "",
        env: dict[str, str] | None = None, script: Path | None = None,
    ) -> None:  # fmt: skip
        home.mkdir(exist_ok=True)
        self.repository, self.home, self.env = repository, home, env or {}
        source = address or str(repository)
        ports = ["--json", "--port", "0", "--control-port", "0"]
        self.log = (home / "log").open("a")
        self.process = warm.start(
            [self.verb, source, *ports, *arguments], cwd=home, stdout=subprocess.PIPE,
            stderr=self.log, script=script,
            env=environment(home) | {"PYTHONFAULTHANDLER": "1"} | (env or {}),
        )  # fmt: skip
        self.events: queue.Queue[dict[str, Any]] = queue.Queue()
        self.reading = threading.Thread(target=self._read, daemon=True)
        self.reading.start()
        self.control = self.api = httpx.Client(timeout=PATIENCE_SECONDS)
        serving = self.serving = self.event("serving")
        self.control = httpx.Client(base_url=serving["control_url"], timeout=PATIENCE_SECONDS)
        self.api = httpx.Client(base_url=serving["url"], timeout=PATIENCE_SECONDS)

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self.events.put(json.loads(line))
        self.events.put({"event": "ended"})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def event(self, kind: str, seconds: float = PATIENCE_SECONDS) -> dict[str, Any]:
        """Return the next event, which must be of this kind."""
        found = self.events.get(timeout=seconds)
        assert found["event"] == kind, (found, (self.home / "log").read_text())
        return found

    def live(self) -> dict[str, Any]:
        """Return the next event, a release that went live."""
        return self.event("live")

    def live_of(self, commit: str) -> bool:
        """Return whether the next event is this commit going live."""
        return bool(self.live()["release"] == commit[:12])

    def stalled(self) -> dict[str, Any]:
        """Return the next event, an attempt that did not go live."""
        return self.event("stalled")

    def status(self) -> dict[str, Any]:
        """Return what the control plane says of the project."""
        (project,) = self.control.get("/api/projects").json()
        status: dict[str, Any] = self.control.get(f"/api/projects/{project['name']}/status").json()
        return status

    def condition(self, kind: str) -> dict[str, Any]:
        """Return one condition."""
        (found,) = [one for one in self.status()["conditions"] if one["type"] == kind]
        return found

    def sign_up(self, **change: str) -> dict[str, str]:
        """Make an account and return its authorization header, also where a cookie holds it."""
        reply = self.api.post("/api/auth/register", json=ADA | change)
        assert reply.status_code == 201, reply.text
        token = reply.json().get("token") or reply.cookies["session"]
        self.api.cookies.clear()
        return {"authorization": f"Bearer {token}"}

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace a text in a file of the repository."""
        path = self.repository / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def commit(self, message: str = "Change") -> str:
        """Commit everything and return the commit's id."""
        git(self.repository, "add", "-A")
        git(self.repository, "commit", "-qm", message)
        return git(self.repository, "rev-parse", "HEAD")

    def bbops(
        self, *arguments: str, env: dict[str, str] | None = None, stdin: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run another command, told where this server is."""
        return warm.run(
            arguments, cwd=self.home, given=stdin,
            env=environment(self.home)
            | {"BBOPS_SERVER": self.serving["control_url"]}
            | (env or {}),
        )  # fmt: skip

    def stop(self, how: int = signal.SIGTERM) -> int:
        """Tell the server to end and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            return self.process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:  # say where every thread of it stands
            self.process.send_signal(signal.SIGABRT)
            self.process.wait(PATIENCE_SECONDS)
            raise AssertionError((self.home / "log").read_text()[-20_000:]) from None
        finally:
            self.reading.join()
            self.log.close()
            for client in (self.api, self.control):
                client.close()
