"""What is true of a project right now, in conditions that people and machines can read.

`Ready`: a release is served and it is the newest commit. `Reconciling`: an attempt is under way.
`Stalled`: the newest commit is not live, and why; the last good release keeps serving. It holds
beside `Ready` where the newest commit is live, and publications are suspended.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.interfaces.answers import ProjectCondition, Publication, Status
from bbops_server.publish.status.signal import Signal

LACKS: Final = frozenset({"addon-needs", "local-storage-not-shared"})
"""Codes of warnings that are about the server."""


class Stalled(Exception):
    """An attempt cannot go on. `is_passing`: trying again may help without a new commit."""

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
        """Return the message with its cure."""
        return f"{self.message}; {self.hint}" if self.hint else self.message

    def as_diagnostic(self) -> JsonDiagnostic:
        """Return it in the form of a diagnostic, for places that show only those."""
        return JsonDiagnostic("error", self.reason, "project.yaml", 1, 1, self.message, self.hint)


class Written(msgspec.Struct, frozen=True):
    """A contract in one of its formats; `digest` names what it says."""

    text: str
    content_type: str
    digest: str


def now() -> datetime:
    """Return the time of the server's own clock."""
    return datetime.now(UTC)  # noqa: TID251 - the server's own clock, no function runs here


class StatusBoard:
    """Keeps the conditions while the reconciler works.

    A project that the server has given no name is called by its own, once that is known.
    """

    def __init__(self, given_name: str, name: str, url: str, branch: str) -> None:
        self.given_name, self.name = given_name, given_name or name
        self.url, self.branch = url, branch
        self.attempted: str | None = None
        self.subject = self.author = ""  # of the commit that is attempted, once it is read
        self.applied: str | None = None
        self.release: str | None = None
        self.version = ""
        self.is_restored = False
        self.handled_at: datetime | None = None
        self.keep: Callable[[Publication], None] = lambda _: None
        self.diagnostics: list[JsonDiagnostic] = []
        self.publications: deque[Publication] = deque(maxlen=10)
        self.stalled: Stalled | None = None
        self.conditions: dict[str, ProjectCondition] = {}
        self.lost: dict[str, ProjectCondition] = {}
        self.changed = Signal()
        """Sent after each change of a condition; the drafts of a project share one."""
        for kind in ("Ready", "Reconciling", "Stalled"):
            self.put(kind, status=False, reason="Starting", message="")

    def put(self, kind: str, *, status: bool, reason: str, message: str) -> None:
        """Set a condition; its time moves only when its status does."""
        old = self.conditions.get(kind)
        since = old.since if old is not None and old.status == status else now()
        self.conditions[kind] = ProjectCondition(kind, status, reason, message, since)
        self.changed.send()

    def status(self) -> Status:
        """Return what is true now; a source out of reach hides how the last attempt ended."""
        conditions = {**self.conditions, **self.lost}
        return Status(
            self.name, self.url, self.branch, self.attempted, self.applied, self.release,
            list(conditions.values()), [] if self.lost else self.diagnostics,
            list(self.publications), self.version or None, self.handled_at,
        )  # fmt: skip

    def lose(self, why: Stalled) -> bool:
        """Record that nobody knows what is newest; False when that is known already."""
        old, message = self.lost.get("Stalled"), why.as_sentence()
        if old is not None and (old.reason, old.message) == (why.reason, message):
            return False
        since = old.since if old is not None else now()
        self.lost = {
            "Ready": ProjectCondition("Ready", False, why.reason, self.serving(), since),  # noqa: FBT003
            "Stalled": ProjectCondition("Stalled", True, why.reason, message, since),  # noqa: FBT003
        }
        return True

    def find(self) -> bool:
        """Record that the source is in reach; False when it was before."""
        was_lost = bool(self.lost)
        self.lost = {}
        return was_lost

    def serving(self) -> str:
        """Return what answers requests meanwhile."""
        return f"{self.release} keeps serving" if self.release else "nothing is live yet"

    def restored(self, name: str, revision: str, release: str, version: str) -> None:
        """Record that the last good release serves again after a restart."""
        self.name = self.given_name or name
        self.applied, self.release, self.version = revision, release, version
        self.is_restored = True
        self.put("Ready", status=True, reason="Restored", message=f"{release} is live")

    def begin(self, revision: str) -> None:
        """Record that an attempt begins."""
        self.attempted, self.subject, self.author = revision, "", ""
        self.put("Reconciling", status=True, reason="Started", message=revision)

    def progress(self, reason: str) -> None:
        """Record the stage an attempt is in."""
        self.put("Reconciling", status=True, reason=reason, message=self.attempted or "")

    def publish(self, name: str, release: str, publication: Publication) -> None:
        """Record that a revision went live; once more after a restart, which is nothing new."""
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
        """Record that the newest commit changes nothing of the project."""
        self.stalled, self.diagnostics = None, []
        newest = (self.attempted or "").rpartition(":")[2][:12]
        is_other = newest != self.release
        unchanged = f"; {newest} does not change this project" if is_other else ""
        message = f"{self.release} is live{unchanged}"
        self.put("Ready", status=True, reason="Unchanged", message=message)
        self.put("Reconciling", status=False, reason="Unchanged", message="")
        self.put("Stalled", status=False, reason="Unchanged", message="")

    def serves(self, commit: str) -> bool:
        """Return whether what answers is what a commit holds of the project."""
        if (self.applied or "").endswith(f":{commit}"):
            return True
        is_over = self.conditions["Ready"].status and not self.conditions["Reconciling"].status
        return is_over and (self.attempted or "").endswith(f":{commit}")

    def warn(self, found: Sequence[JsonDiagnostic]) -> None:
        """Record what this server lacks for the newest commit, by its warnings."""
        lacks = [one for one in found if one.code in LACKS]
        if lacks:
            message = "; ".join(one.message for one in lacks)
            self.put("Warning", status=True, reason=lacks[0].code, message=message)
        elif "Warning" in self.conditions:
            self.put("Warning", status=False, reason="Done", message="")

    def stall_narrowing(self, stalled: Stalled) -> bool:
        """Record why rules of the live release are not in force; False when that is known."""
        old, message = self.conditions.get("Narrowing"), stalled.as_sentence()
        self.put("Narrowing", status=True, reason=stalled.reason, message=message)
        return old is None or not old.status or old.message != message

    def narrowed(self, hidden: Sequence[str]) -> None:
        """Record that the tables are those of the live release, but for what is hidden."""
        if "Narrowing" in self.conditions:
            self.put("Narrowing", status=False, reason="Done", message="")
        self.hide(hidden)

    def refuse_frontend(self, why: str) -> None:
        """Record why a frontend that was tagged elsewhere is not served; empty when all are."""
        if why:
            self.put("FrontendRefused", status=True, reason="TagRefused", message=why)
        elif "FrontendRefused" in self.conditions:
            self.put("FrontendRefused", status=False, reason="Done", message="")

    def hide(self, hidden: Sequence[str]) -> None:
        """Record what the database keeps although no release declares it."""
        if hidden:
            message = f"{', '.join(hidden)}: 'bbops db narrow' deletes what is hidden for good"
            self.put("Hidden", status=True, reason="Dropped", message=message)
        elif "Hidden" in self.conditions:
            self.put("Hidden", status=False, reason="Done", message="")

    def stall(self, stalled: Stalled) -> bool:
        """Record why the newest revision is not live; False when that is known already."""
        old, self.stalled = self.stalled, stalled
        self.diagnostics = stalled.diagnostics
        self.put("Reconciling", status=False, reason=stalled.reason, message="")
        self.put("Stalled", status=True, reason=stalled.reason, message=stalled.as_sentence())
        is_newest = stalled.reason == "Suspended" and self.attempted == self.applied
        told = f"{self.release} is live" if is_newest else self.serving()
        self.put("Ready", status=is_newest, reason=stalled.reason, message=told)
        is_new = old is None or (old.reason, old.message) != (stalled.reason, stalled.message)
        if is_new and self.attempted:
            self.add(Publication(
                self.attempted, now(), stalled.reason, 0.0, author=self.author,
                subject=self.subject, message=stalled.message,
            ))  # fmt: skip
        return is_new

    def add(self, publication: Publication) -> None:
        """Remember an attempt that ended, here and where it is kept."""
        self.publications.append(publication)
        self.keep(publication)
