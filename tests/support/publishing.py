"""A project that is published over and over by all there is, and what is true of it when calm."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

import httpx

from bbops.compiler.compile.release import build
from bbops.database.migrate import rollout
from bbops.database.migrate.rollout_plan import RolloutPlan
from bbops.interfaces.answers import Status
from bbops.interfaces.client import Remote
from bbops.source.git.numbered_tags import read_versions
from bbops.source.git.place import find_repository
from bbops.source.git.series import Version
from bbops.source.git.store import GitTree, Store
from bbops_server.publish.holds.approvals import read_waiting
from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.ports import free_port
from tests.support.processes import children
from tests.support.pushing import BAD
from tests.support.reading import Reader
from tests.support.served import Served
from tests.support.small_project import FILES, hello, write_project

PASSING: Final = {"Failed", "GitFailed", "LinkFailed", "StateNotWritable", "InternalError"}
NAME: Final = "small"
Way = Literal["http", "file"]
Victim = Literal["server", "data", "build"]


@dataclass(frozen=True)
class Content:
    """What a commit holds; `columns` are names with the one that each had before, or empty."""

    number: int
    columns: tuple[tuple[str, str], ...] = ()
    is_broken: bool = False

    def files(self) -> dict[str, str]:
        """Return the files that make it."""
        lines = [
            f"  {name}: {{ type: string, default: x{f', renamedFrom: {old}' if old else ''} }}\n"
            for name, old in self.columns
        ]
        table = {"tables/notes.yaml": FILES["tables/notes.yaml"] + "".join(lines)}
        return {**table, **(BAD if self.is_broken else hello(self.number))}

    def loses(self, live: Content) -> bool:
        """Return whether values of a column would be lost behind what is live."""
        before, now = dict(live.columns), dict(self.columns)
        kept = {old for name, old in self.columns if name not in before}
        return bool(before.keys() - now.keys() - kept)


class Publishing:
    """A server of a bare repository, a clone of it, and what should be live.

    With `path` the project is in that folder of its repository, where others commit, too.
    """

    def __init__(self, folder: Path, path: str = "") -> None:
        self.path = path
        self.folder, self.state, self.bare = folder, folder / "state", folder / "shop.git"
        self.clone, self.home = folder / "clone", folder / "home"
        self.project = write_project(self.clone / path)
        git(self.clone, "init", "-q", "-b", "main")
        start = Content(1)
        write_project(self.project, start.files())
        git(self.clone, "add", "-A")
        git(self.clone, "commit", "-qm", "Start")
        git(folder, "clone", "-q", "--bare", str(self.clone), str(self.bare))
        self.contents = {self.tip(): start}
        self.live = self.tip()
        self.went_live = {self.live}
        self.between: list[str] = []
        """Commits on the way to the newest, which may go live or not."""
        self.agreed: set[str] = set()
        self.accepted: tuple[str, str] | None = None
        self.is_suspended = self.is_disturbed = False
        self.greetings = ["hello"]
        self.titles: list[str] = []
        self.number = 1
        self.newest_version = 0
        self.place = find_repository(self.bare)
        self.ports = (free_port(), free_port())
        self.url = f"http://127.0.0.1:{self.ports[0]}"
        self.served = self.start()
        self.api = httpx.Client(base_url=self.url, timeout=PATIENCE_SECONDS)
        wait_for(lambda: self.api.get("/hello").is_success)
        self.write_row()  # so that a column that goes takes a value along
        self.reader = Reader(self.url)

    # ---- the server
    def start(self) -> Served:
        """Start the server, and know it again."""
        ports = ("--port", str(self.ports[0]), "--control-port", str(self.ports[1]))
        ports += ("--path", self.path) if self.path else ()
        served = Served(self.bare, self.home, *ports, "--state", str(self.state))
        self.remote = Remote(served.serving["control_url"])
        wait_for(lambda: NAME in {one.name for one in self.remote.projects()})
        return served

    def restart(self, how: int = signal.SIGTERM) -> None:
        """End the server and start it again, once no process of it is left."""
        self.is_disturbed = True
        children = self.children()
        self.remote.close()
        self.served.stop(how)
        wait_for(lambda: not any(map(_is_there, children)) and not self.leftovers())
        self.served = self.start()

    def children(self) -> dict[int, str]:
        """Return the processes of the server, with what they are."""
        return {one: _kind(one) for one in children(self.served.process.pid)}

    def leftovers(self) -> list[str]:
        """Return the processes of git that outlive their server: they may still move a branch."""
        mark = f"GIT_PROJECT_ROOT={self.folder}".encode()
        return [one.name for one in Path("/proc").iterdir() if mark in _environment(one)]

    def kill(self, victim: Victim) -> None:
        """Kill the server, or all its processes of a kind."""
        self.is_disturbed = True
        if victim == "server":
            self.restart(signal.SIGKILL)
            return
        for child, kind in self.children().items():
            if kind == victim:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)

    def stop(self) -> None:
        """End all of it."""
        self.reader.stop()
        self.api.close()
        self.remote.close()
        assert self.served.stop() == 0
        assert "Traceback" not in (self.home / "log").read_text()

    # ---- the repository
    def tip(self) -> str:
        """Return the newest commit of what is followed."""
        return git(self.bare, "rev-parse", "refs/heads/main")

    @property
    def newest(self) -> Content:
        """What the newest commit holds."""
        return self.contents[self.tip()]

    def next_number(self) -> int:
        """Return a number that nothing has had yet."""
        self.number += 1
        return self.number

    def follow(self) -> None:
        """Bring the clone to where the branch is."""
        git(self.clone, "fetch", "-q", str(self.bare), "main")
        git(self.clone, "reset", "-q", "--hard", "FETCH_HEAD")

    def commit(self, content: Content, *, on: str = "HEAD", when: str = "") -> str:
        """Commit in the clone; return the id."""
        git(self.clone, "reset", "-q", "--hard", on)
        write_project(self.project, content.files())
        git(self.clone, "add", "-A")
        words = ("commit", "--allow-empty", "-qm", f"Number {content.number}")
        git(self.clone, *words, date=when)
        commit = git(self.clone, "rev-parse", "HEAD")
        self.contents[commit] = content
        return commit

    def push(self, way: Way = "http", *options: str, what: str = "HEAD:refs/heads/main") -> str:
        """Push from the clone; return what git prints, with its exit code before."""
        where = f"{self.served.serving['control_url']}/git/{NAME}.git"
        address = where if way == "http" else str(self.bare)
        done = subprocess.run(
            ["git", "push", *options, address, what], cwd=self.clone, capture_output=True,
            text=True, check=False, timeout=60, env=os.environ | {"GIT_TERMINAL_PROMPT": "0"},
        )  # fmt: skip
        return f"{done.returncode} {done.stdout}{done.stderr}"

    # ---- what must be true
    def reason(self) -> str:
        """Return why the newest commit must not be live; empty when it must."""
        tip = self.tip()
        if self.is_suspended:
            return "Suspended"
        if self.is_same(self.live, tip):
            return ""
        if not self._may_follow(tip):
            return "HistoryRewritten"
        if self.contents[tip].is_broken:
            return "ProjectInvalid"
        loses = self.contents[tip].loses(self.contents[self.live]) and tip not in self.agreed
        return "MigrationRefused" if loses else ""

    def _may_follow(self, tip: str) -> bool:
        if self.follows(self.live, tip):
            return True
        old, new = self.accepted or ("", "")
        return old == self.live and self.follows(new, tip)

    def follows(self, old: str, new: str) -> bool:
        """Return whether a commit is another's, or after it."""
        answer = subprocess.run(
            ["git", "merge-base", "--is-ancestor", old, new], cwd=self.bare, check=False
        )
        return answer.returncode == 0

    def settle(self) -> None:
        """Wait until what is live is what must be, and look at all of it."""
        reason, before, tip = self.reason(), self.live, self.tip()
        expected = before if reason or self.is_same(before, tip) else tip
        self.way = [before, *self.between, tip]
        self._wait_until_calm(reason, expected, tip)
        self.live = expected
        self.went_live.add(expected)
        self._check_answers(reason)
        self._check_tables()
        self._check_versions(moved=self.tree(expected) != self.tree(before))
        self.between, self.is_disturbed = [], False

    def _wait_until_calm(self, reason: str, expected: str, tip: str) -> None:
        try:
            wait_for(lambda: self._is_calm(reason, expected, tip))
        except AssertionError as error:
            seen = (reason, expected, tip, self.remote.status(NAME), self.contents)
            raise AssertionError(seen) from error

    def _is_calm(self, reason: str, expected: str, tip: str) -> bool:
        status = self.remote.status(NAME)
        said = {one.type: one for one in status.conditions}
        applied = (status.applied_revision or "").removeprefix("main@sha1:")
        assert applied in self.way, (applied, self.way, self.contents)
        if said["Stalled"].status and said["Stalled"].reason in PASSING:
            assert self.is_disturbed, said["Stalled"]
            self.remote.reconcile(NAME)
        if applied != expected or said["Reconciling"].status:
            return False
        if reason != "Suspended" and not (status.attempted_revision or "").endswith(tip):
            return False
        found = said["Stalled"].reason if said["Stalled"].status else ""
        return found == reason and (bool(reason) or _is_ready(status))

    def _check_answers(self, reason: str) -> None:
        if not reason:  # else a value waits for the next release, or a restart
            self.greetings = self.greetings[-1:]
            wait_for(lambda: self._ask().json()["text"] == self.greetings[-1])
        reply, content = self._ask(), self.contents[self.live]
        assert reply.headers["x-release"] == self.live[:12]
        assert reply.json()["version"] == content.number
        assert reply.json()["text"] in self.greetings
        seen, failures = self.reader.take()
        assert self.is_disturbed or not failures, failures
        self._check_order(seen)

    def _check_order(self, seen: list[tuple[str, int]]) -> None:
        """A client sees releases as they went live; a kill may bring the one before back."""
        shown = [(one[:12], self.contents[one].number) for one in self.way]
        assert set(seen) <= set(shown), (seen, shown)
        places = [shown.index(one) for one in seen]
        assert self.is_disturbed or places == sorted(places), (seen, shown)
        self.went_live |= {one for one in self.way if (one[:12], self.contents[one].number) in seen}

    def _ask(self) -> httpx.Response:
        """Return an answer; a connection that a kill has ended is made anew."""
        try:
            return self.api.get("/hello")
        except httpx.HTTPError:
            assert self.is_disturbed
            return self.api.get("/hello")

    def _check_tables(self) -> None:
        data = self.state / "data.sqlite"
        with contextlib.closing(Store(self.place)) as store:
            project = build(GitTree(store, self.live, under=self.path)).project
        assert project is not None
        tables = {name: table.model for name, table in project.tables.items()}
        wait_for(lambda: _is_done(rollout.plan(data, tables)))
        with contextlib.closing(sqlite3.connect(data)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            stored = [one for (one,) in connection.execute("SELECT title FROM notes ORDER BY id")]
        assert [one for one in stored if one in self.titles] == self.titles

    def _check_versions(self, *, moved: bool) -> None:
        found = read_versions(self.place)
        trees = {one.commit: self.tree(one.commit) for one in found}
        untagged = {one for one in self.went_live if self.tree(one) not in trees.values()}
        assert not untagged, (untagged, self.way, (self.home / "log").read_text()[-4000:])
        assert trees[found[0].commit] == self.tree(self.live)
        assert found[0].facts["Project"] == NAME
        assert found[0].facts["Release"]
        assert found[0].number >= self.newest_version + moved
        assert self.remote.status(NAME).version == found[0].name
        self.newest_version = found[0].number

    def tree(self, commit: str) -> str:
        """Return the id of what a commit holds of the project."""
        return git(self.bare, "rev-parse", f"{commit}:{self.path}")

    def is_same(self, one: str, other: str) -> bool:
        """Return whether two commits are the same to a project that has a folder of its own."""
        return bool(self.path) and self.tree(one) == self.tree(other)

    def write_row(self) -> None:
        """Write a row that has to be there from now on."""
        title = f"note {self.next_number()}"
        assert self.api.post("/notes", json={"title": title}).status_code == 201
        self.titles.append(title)

    def versions(self) -> tuple[Version, ...]:
        """Return what went live, newest first."""
        return read_versions(self.place)

    def approve(self) -> None:
        """Say yes to what the migration that waits would lose."""
        found = read_waiting(self.state)
        assert found is not None
        done = self.served.bbops("db", "approve", found.hash, "--state", str(self.state))
        assert done.returncode == 0, done.stderr
        self.agreed.add(self.tip())

    def restored(self, version: Version, *, only: bool) -> Content:
        """Return what a way back makes of the newest commit."""
        old, now = self.contents[version.commit], self.newest
        return replace(now, number=old.number, is_broken=False) if only else old

    @contextlib.contextmanager
    def meanwhile(self, work: Callable[[], object]) -> Iterator[None]:
        """Do something beside what is in the block."""
        with ThreadPoolExecutor(1) as pool:
            working = pool.submit(work)
            yield
            working.result()


def git(folder: Path, *arguments: str, date: str = "") -> str:
    """Run git as somebody whose clock says another time."""
    dates = {"GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date} if date else {}
    identity = ["-c", "user.name=ada", "-c", "user.email=ada@example.com"]
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=False,
        env=os.environ | dates,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def _environment(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes() if process.name.isdigit() else b""
    except OSError:
        return b""


def _is_done(planned: RolloutPlan) -> bool:
    return planned.is_done and not planned.is_behind


def _is_ready(status: Status) -> bool:
    return any(one.type == "Ready" and one.status for one in status.conditions)


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _kind(pid: int) -> str:
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
        kinds = {"data": b"bbops_server.data_plane", "build": b"bbops_server.publish.build"}
        return next((kind for kind, module in kinds.items() if module in words), "")
    return ""
