"""What a server answers: the shapes of its control plane's API, for those who ask it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.source.git.proposals import Proposal


class ProjectLine(msgspec.Struct, frozen=True):
    """A project in the server's list."""

    name: str
    revision: str | None
    url: str
    ready: bool


class Condition(msgspec.Struct, frozen=True):
    """One thing that is true or not, since when and why: `type` is Ready, Reconciling or Stalled.

    `reason` is CamelCase, for machines.
    """

    type: str
    status: bool
    reason: str
    message: str
    since: datetime | None = None


class Publication(msgspec.Struct, frozen=True):
    """An attempt that ended: live, or stalled with its reason.

    `version` is its tag, `author` and `subject` are those of its commit, `changes` those of tables.
    """

    revision: str
    at: datetime
    outcome: str
    milliseconds: float | None = None
    version: str = ""
    author: str = ""
    subject: str = ""
    changes: list[str] = []
    message: str = ""


class ReconcileAnswer(msgspec.Struct, frozen=True):
    """The answer to a request to publish the newest commit, with the time of that request."""

    requested_at: datetime
    status: str = "accepted"


class Status(msgspec.Struct, frozen=True):
    """How a project is: what is live, what was tried last, and what stands in its way.

    `handled_at` is the `requested_at` of the newest request whose attempt has ended, None before
    the first attempt.
    """

    name: str
    url: str
    branch: str
    attempted_revision: str | None
    applied_revision: str | None
    release: str | None
    conditions: list[Condition]
    diagnostics: list[JsonDiagnostic]
    publications: list[Publication]
    version: str | None = None
    handled_at: datetime | None = None

    @property
    def is_ready(self) -> bool:
        """Whether the newest commit is live."""
        return self.find("Ready") is not None

    @property
    def is_reconciling(self) -> bool:
        """Whether an attempt is under way."""
        return self.find("Reconciling") is not None

    @property
    def is_settled(self) -> bool:
        """Whether what is live is what the newest commit holds, and nothing is under way."""
        return self.is_ready and not self.is_reconciling

    @property
    def attempted_subject(self) -> str:
        """The subject of the commit that was tried last; empty where it was not read."""
        tried = (one for one in reversed(self.publications) if one.subject)
        return next((one.subject for one in tried if one.revision == self.attempted_revision), "")

    def find(self, kind: str) -> Condition | None:
        """Return a condition by its type, such as Stalled; None when it does not hold."""
        return next((one for one in self.conditions if one.type == kind and one.status), None)


class ServerStatus(msgspec.Struct, frozen=True):
    """How a server's own settings are: the file they come from, and what is wrong in it."""

    file: str | None = None
    diagnostics: list[JsonDiagnostic] = []


class Oneself(msgspec.Struct, frozen=True):
    """Whom a server takes one for: `how` is session, token or local."""

    how: str
    email: str
    name: str
    role: str | None
    projects: dict[str, str]
    scopes: list[str]


class Login(msgspec.Struct, frozen=True):
    """A sign-in that somebody approves at `url`; `device` is for polling alone."""

    device: str
    code: str
    url: str
    interval_seconds: float


class LoginOutcome(msgspec.Struct, frozen=True):
    """How it is with it: pending, approved, denied or expired."""

    status: str
    token: str = ""
    email: str = ""


DraftState = Literal["asleep", "waking", "live", "stalled"]


class DraftStatus(msgspec.Struct, frozen=True):
    """A branch that is previewed: where, and how far that is.

    Attributes:
        slug: as its address has it.
        commit: the newest one.
        state: `asleep` until it is asked for; `stalled` with a message and diagnostics.
        release: what answers there, None while nothing does.
    """

    branch: str
    slug: str
    commit: str
    url: str
    state: DraftState
    release: str | None
    message: str
    diagnostics: list[JsonDiagnostic]


class Preview(msgspec.Struct, frozen=True):
    """What lets a program into a draft, and until when."""

    url: str
    token: str
    expires_at: str


class Tests(msgspec.Struct, frozen=True):
    """What the tests of a proposal say.

    Attributes:
        state: `unknown` where they could not be run; `summary` says why.
        summary: all of it in a line.
        diagnostics: what fails, and where.
    """

    state: Literal["running", "passed", "failed", "unknown"]
    summary: str
    passed: int = 0
    failed: int = 0
    seconds: float = 0.0
    diagnostics: list[JsonDiagnostic] = []

    @property
    def is_against(self) -> bool:
        """Whether they speak against what they were run for."""
        return self.state in {"failed", "unknown"}


class ChangedPlace(msgspec.Struct, frozen=True):
    """Where an answer differs: a JSON pointer, empty for all of it, and both as masked text."""

    at: str
    before: str
    now: str


class ChangedAnswer(msgspec.Struct, frozen=True):
    """A request whose answer would change: its status before and after, and what differs in it."""

    method: str
    route: str
    target: str
    before: int
    now: int
    places: tuple[ChangedPlace, ...]


class Replayed(msgspec.Struct, frozen=True):
    """What a proposal's draft answered otherwise than the live API.

    Attributes:
        head: the commit that the draft served.
        at: when, in seconds since 1970.
        asked: how many requests were asked.
        left: how many were not, for they were signed in, hold a secret or took too long.
        changed: those whose responses would change.
    """

    head: str
    at: float
    asked: int
    left: int
    changed: tuple[ChangedAnswer, ...]


class OtherProject(msgspec.Struct, frozen=True):
    """What a proposal would do to another project of the repository; its files are in `folder`."""

    project: str
    folder: str
    plan: dict[str, Any] | None
    text: str
    diagnostics: list[JsonDiagnostic]
    tests: Tests | None


class ProposalDetail(msgspec.Struct, frozen=True):
    """A proposal, what merging it would do now, and what blocks it.

    `obstacles` is empty when it can be merged. `digest` names what it would do: an approval is of
    that alone, and `outdated` are those whose approval was of something else. `tests` run when a
    change of it is looked at first; null where it has mistakes or conflicts. `diff` is what `git
    diff` writes of it, at most 256 kB. For one that was merged or closed, all of these are as they
    were when it was last looked at before that. `replayed` is what its draft answered differently;
    null where that was not asked of this commit, or may not be read. `others` are the other
    projects of the repository that it changes, `hidden` how many more there are that may not be
    read; then `diff` is of this project alone.
    """

    proposal: Proposal
    page: str
    preview: str
    summary: str
    obstacles: tuple[str, ...]
    conflicts: tuple[str, ...]
    digest: str
    approvals: int
    approved: tuple[str, ...]
    outdated: tuple[str, ...]
    diagnostics: list[JsonDiagnostic]
    plan: dict[str, Any] | None
    text: str
    tests: Tests | None = None
    diff: str = ""
    replayed: Replayed | None = None
    others: tuple[OtherProject, ...] = ()
    hidden: int = 0


class RolledBack(msgspec.Struct, frozen=True):
    """The commit that restores a version: in proposal `proposal`, or on the branch where that is 0.

    `page` is the address of the proposal. The project's status says when it is live.
    """

    commit: str
    branch: str
    version: str
    proposal: int = 0
    page: str = ""


class PublishedFrontend(msgspec.Struct, frozen=True):
    """A frontend that was published; `message` says why it is not live, where it is not."""

    version: str
    commit: str
    is_live: bool
    message: str


class Merged(msgspec.Struct, frozen=True):
    """What became of a merge."""

    proposal: Proposal
    lines: list[str]
    is_live: bool


class Reply(msgspec.Struct, frozen=True):
    """An answer of a project's API; `value` is its JSON, null without any."""

    status: int
    release: str
    value: Any


class McpAddress(msgspec.Struct, frozen=True):
    """Where agents reach one project; opaque, and never made from its name."""

    mcp_url: str


class IssuedKey(msgspec.Struct, frozen=True):
    """An API key that was just made, the only time it is shown: only its hash is kept."""

    id: str
    key: str


class ApiKey(msgspec.Struct, frozen=True):
    """What is known of an API key; times are seconds since 1970, `channels` null means all.

    `used_at` is when it opened something last, up to a minute late; null where it never did.
    """

    id: str
    prefix: str
    name: str
    channels: list[str] | None
    claims: dict[str, Any]
    created_at: float
    expires_at: float | None = None
    revoked_at: float | None = None
    used_at: float | None = None

    def has_ended(self, now: float) -> bool:
        """Return whether it opens nothing any more."""
        return self.revoked_at is not None or (self.expires_at or now + 1) <= now


class SentMessage(msgspec.Struct, frozen=True):
    """A message to a receiver of webhooks and its last try; see `bbops hooks`.

    `outcome` is waiting, taken or dropped, `status` what the receiver answered, if it did.
    """

    id: str
    receiver: str
    event: str
    project: str
    at: str
    tries: int
    outcome: str
    tried_at: str | None
    status: int | None
    error: str


def error_text(content: bytes) -> str:
    """Return a server's own words: of `{"error": "…"}` or `{"error": {"message": "…"}}`."""
    try:
        body: Any = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    error = body.get("error") if isinstance(body, dict) else None
    text = error.get("message") if isinstance(error, dict) else error
    return text if isinstance(text, str) else ""
