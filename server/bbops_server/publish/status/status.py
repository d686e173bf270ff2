"""The status of a project, as conditions for people and programs, and the signal of a change.

`Ready`: the newest commit is live. `Reconciling`: an attempt is running. `Stalled`: the newest
commit is not live, with the reason; the live release keeps serving. Both `Ready` and `Stalled` are
true if the newest commit is live and publications are suspended.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.interfaces.answers import ProjectCondition, Publication, Status

SERVER_WARNINGS: Final = frozenset({"addon-needs", "local-storage-not-shared"})
"""Codes of warnings about the server, not the project."""


class Stalled(Exception):
    """The reason for which an attempt cannot continue.

    Attributes:
        is_passing: a retry may succeed without a new commit.
        wait_seconds: the shortest pause before a retry.
        serving: the release that serves requests meanwhile; empty without one, and until the
            attempt is recorded.
    """

    wait_seconds = 0.0
    serving = ""

    def __init__(
        self,
        reason: str,
        message: str,
        hint: str = "",
        diagnostics: Sequence[JsonDiagnostic] = (),
        *,
        is_passing: bool = False,
    ) -> None:
        super().__init__(message)
        self.reason, self.message, self.hint = reason, message, hint
        self.diagnostics, self.is_passing = list(diagnostics), is_passing

    def as_sentence(self) -> str:
        """Return the message with its hint."""
        return f"{self.message}; {self.hint}" if self.hint else self.message

    def as_diagnostic(self) -> JsonDiagnostic:
        """Return a diagnostic of project.yaml."""
        return JsonDiagnostic("error", self.reason, "project.yaml", 1, 1, self.message, self.hint)


def now() -> datetime:
    """Return the time of the server's clock."""
    return datetime.now(UTC)  # noqa: TID251 - the server's own clock


class StatusBoard:
    """The conditions of a project, updated by its reconciler.

    A project without a name in server.yaml has the name in its project.yaml, once that is read.
    """

    def __init__(self, given_name: str, name: str, url: str, branch: str) -> None:
        self.given_name, self.name = given_name, given_name or name
        self.url, self.branch = url, branch
        self.attempted: str | None = None
        self.subject = self.author = ""  # the attempted commit's, once it is read
        self.applied: str | None = None
        self.release: str | None = None
        self.version = ""
        self.is_restored = False
        self.handled_at: datetime | None = None
        self.on_publication: Callable[[Publication], None] = lambda _: None
        self.diagnostics: list[JsonDiagnostic] = []
        self.publications: deque[Publication] = deque(maxlen=10)
        self.stalled: Stalled | None = None
        self.conditions: dict[str, ProjectCondition] = {}
        self.source_conditions: dict[str, ProjectCondition] = {}
        self.changed = Signal()
        """Sent after each change of a condition; the drafts of a project share one."""
        for kind in ("Ready", "Reconciling", "Stalled"):
            self.put(kind, status=False, reason="Starting", message="")

    def put(self, kind: str, *, status: bool, reason: str, message: str) -> None:
        """Set a condition; `since` changes only with its status."""
        old = self.conditions.get(kind)
        since = old.since if old is not None and old.status == status else now()
        self.conditions[kind] = ProjectCondition(kind, status, reason, message, since)
        self.changed.send()

    def status(self) -> Status:
        """Return the status, without diagnostics while the source is unreachable."""
        conditions = {**self.conditions, **self.source_conditions}
        return Status(
            self.name, self.url, self.branch, self.attempted, self.applied, self.release,
            list(conditions.values()), [] if self.source_conditions else self.diagnostics,
            list(self.publications), self.version or None, self.handled_at,
        )  # fmt: skip

    def source_lost(self, why: Stalled) -> bool:
        """Record that the source is unreachable; return False if that was recorded before."""
        old, message = self.source_conditions.get("Stalled"), why.as_sentence()
        if old is not None and (old.reason, old.message) == (why.reason, message):
            return False
        since = old.since if old is not None else now()
        self.source_conditions = {
            "Ready": ProjectCondition("Ready", False, why.reason, self.describe_live(), since),  # noqa: FBT003
            "Stalled": ProjectCondition("Stalled", True, why.reason, message, since),  # noqa: FBT003
        }
        return True

    def source_found(self) -> bool:
        """Record that the source is reachable; return False if it was reachable before."""
        was_unreachable = bool(self.source_conditions)
        self.source_conditions = {}
        return was_unreachable

    def describe_live(self) -> str:
        """Return a message about the live release."""
        return f"{self.release} keeps serving" if self.release else "nothing is live yet"

    def restored(self, name: str, revision: str, release: str, version: str) -> None:
        """Record that the last live release serves again after a restart."""
        self.name = self.given_name or name
        self.applied, self.release, self.version = revision, release, version
        self.is_restored = True
        self.put("Ready", status=True, reason="Restored", message=f"{release} is live")

    def begin(self, revision: str) -> None:
        """Record the start of an attempt."""
        self.attempted, self.subject, self.author = revision, "", ""
        self.put("Reconciling", status=True, reason="Started", message=revision)

    def progress(self, reason: str) -> None:
        """Record the stage of the attempt."""
        self.put("Reconciling", status=True, reason=reason, message=self.attempted or "")

    def publish(self, name: str, release: str, publication: Publication) -> None:
        """Record a live revision; the first one after a restart is not a new publication."""
        is_known = self.is_restored and publication.revision == self.applied
        self.name, self.is_restored = self.given_name or name, False
        self.applied, self.release = publication.revision, release
        self.version = publication.version
        self.stalled, self.diagnostics = None, []
        if not is_known:
            self.add(publication)
        message = f"{release} is live"
        self.put("Ready", status=True, reason="Published", message=message)
        self.put("Reconciling", status=False, reason="Done", message="")
        self.put("Stalled", status=False, reason="Published", message="")

    def keep_live(self) -> None:
        """Record that the live release stays: the newest commit does not change the project."""
        self.stalled, self.diagnostics = None, []
        newest = (self.attempted or "").rpartition(":")[2][:12]
        is_other = newest != self.release
        unchanged = f"; {newest} does not change this project" if is_other else ""
        message = f"{self.release} is live{unchanged}"
        self.put("Ready", status=True, reason="Unchanged", message=message)
        self.put("Reconciling", status=False, reason="Unchanged", message="")
        self.put("Stalled", status=False, reason="Unchanged", message="")

    def serves(self, commit: str) -> bool:
        """Return whether the live release has the project's files of a commit."""
        if (self.applied or "").endswith(f":{commit}"):
            return True
        is_over = self.conditions["Ready"].status and not self.conditions["Reconciling"].status
        return is_over and (self.attempted or "").endswith(f":{commit}")

    def warn(self, diagnostics: Sequence[JsonDiagnostic]) -> None:
        """Record warnings about this server for the newest commit."""
        warnings = [item for item in diagnostics if item.code in SERVER_WARNINGS]
        if warnings:
            message = "; ".join(warning.message for warning in warnings)
            self.put("Warning", status=True, reason=warnings[0].code, message=message)
        elif "Warning" in self.conditions:
            self.put("Warning", status=False, reason="Done", message="")

    def stall_narrowing(self, stalled: Stalled) -> bool:
        """Record why narrowing failed; return False if that was recorded before."""
        old, message = self.conditions.get("Narrowing"), stalled.as_sentence()
        self.put("Narrowing", status=True, reason=stalled.reason, message=message)
        return old is None or not old.status or old.message != message

    def narrowed(self, hidden: Sequence[str]) -> None:
        """Record that the tables match the live release, except for hidden columns and tables."""
        if "Narrowing" in self.conditions:
            self.put("Narrowing", status=False, reason="Done", message="")
        self.hide(hidden)

    def refuse_frontend(self, why: str) -> None:
        """Record why a frontend tagged outside this server is rejected; empty if none is."""
        if why:
            self.put("FrontendRefused", status=True, reason="TagRefused", message=why)
        elif "FrontendRefused" in self.conditions:
            self.put("FrontendRefused", status=False, reason="Done", message="")

    def hide(self, hidden: Sequence[str]) -> None:
        """Record the hidden columns and tables: no release declares them."""
        if hidden:
            message = f"{', '.join(hidden)}: 'bbops db narrow' deletes them for good"
            self.put("Hidden", status=True, reason="Dropped", message=message)
        elif "Hidden" in self.conditions:
            self.put("Hidden", status=False, reason="Done", message="")

    def stall(self, stalled: Stalled) -> bool:
        """Record why the newest revision is not live; return False if that was recorded before."""
        old, self.stalled = self.stalled, stalled
        stalled.serving = self.release or ""
        self.diagnostics = stalled.diagnostics
        self.put("Reconciling", status=False, reason=stalled.reason, message="")
        self.put("Stalled", status=True, reason=stalled.reason, message=stalled.as_sentence())
        is_newest = stalled.reason == "Suspended" and self.attempted == self.applied
        message = f"{self.release} is live" if is_newest else self.describe_live()
        self.put("Ready", status=is_newest, reason=stalled.reason, message=message)
        is_new = old is None or (old.reason, old.message) != (stalled.reason, stalled.message)
        if is_new and self.attempted:
            self.add(Publication(
                self.attempted, now(), stalled.reason, 0.0, author=self.author,
                subject=self.subject, message=stalled.message,
            ))  # fmt: skip
        return is_new

    def add(self, publication: Publication) -> None:
        """Record an ended attempt, and pass it to `on_publication`."""
        self.publications.append(publication)
        self.on_publication(publication)


class Signal:
    """A signal that wakes all waiting tasks of one event loop."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    def send(self) -> None:
        """Wake all waiting tasks."""
        sent, self._next = self._next, asyncio.Event()
        sent.set()

    def next(self) -> asyncio.Event:
        """Return the event that the next `send` sets; read it before the condition it announces."""
        return self._next

    async def wait(self, is_true: Callable[[], bool], seconds: float) -> bool:
        """Return True once a condition is true, checked after each `send`; False at the timeout."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not is_true():
                    await self._next.wait()
        return is_true()
