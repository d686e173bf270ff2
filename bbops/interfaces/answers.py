"""The responses of a server's control-plane API."""

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


class ProjectCondition(msgspec.Struct, frozen=True):
    """A condition of a project: `type` is Ready, Reconciling or Stalled.

    `reason` is CamelCase, for machines.
    """

    type: str
    status: bool
    reason: str
    message: str
    since: datetime | None = None


class Publication(msgspec.Struct, frozen=True):
    """A finished publication: live, or stalled with its reason.

    `version` is its tag; `author` and `subject` come from its commit; `changes` are changes of
    tables.
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


class ReconcileResponse(msgspec.Struct, frozen=True):
    """The response to a request to publish the newest commit, with the time of that request."""

    requested_at: datetime
    status: str = "accepted"


class CommitStatus(msgspec.Struct, frozen=True):
    """The place of a commit in the history of a project's branch.

    Attributes:
        is_live: the live release has the project's files of this commit.
        is_in_live: the live commit is this commit, or follows it.
        is_in_attempted: the last attempted commit is this commit, or follows it.
    """

    commit: str
    is_live: bool
    is_in_live: bool
    is_in_attempted: bool


class Status(msgspec.Struct, frozen=True):
    """The status of a project: its live release, the last attempt, and the reason for a failure.

    `handled_at` is the `requested_at` of the newest request whose attempt has ended, None before
    the first attempt. `commit` is about the commit in the query of the request, None without one.
    """

    name: str
    url: str
    branch: str
    attempted_revision: str | None
    applied_revision: str | None
    release: str | None
    conditions: list[ProjectCondition]
    diagnostics: list[JsonDiagnostic]
    publications: list[Publication]
    version: str | None = None
    handled_at: datetime | None = None
    commit: CommitStatus | None = None

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
        """Whether the newest commit is live, and no attempt is under way."""
        return self.is_ready and not self.is_reconciling

    @property
    def attempted_subject(self) -> str:
        """The subject of the last attempted commit; empty if the commit was not read."""
        tried = (item for item in reversed(self.publications) if item.subject)
        revision = self.attempted_revision
        return next((item.subject for item in tried if item.revision == revision), "")

    def find(self, kind: str) -> ProjectCondition | None:
        """Return a condition by its type, such as Stalled; None if it is not true."""
        return next((item for item in self.conditions if item.type == kind and item.status), None)


class ServerStatus(msgspec.Struct, frozen=True):
    """The status of a server's own settings: their file, and the diagnostics of that file."""

    file: str | None = None
    diagnostics: list[JsonDiagnostic] = []


class SignedInUser(msgspec.Struct, frozen=True):
    """The user of a request: `how` is session, token or local."""

    how: str
    email: str
    name: str
    role: str | None
    projects: dict[str, str]
    scopes: list[str]


class PendingLogin(msgspec.Struct, frozen=True):
    """A sign-in that the user approves at `url`; `device` is the secret for polling."""

    device: str
    code: str
    url: str
    interval_seconds: float


class LoginOutcome(msgspec.Struct, frozen=True):
    """The status of a sign-in: pending, approved, denied or expired."""

    status: str
    token: str = ""
    email: str = ""


DraftState = Literal["asleep", "waking", "awake", "stalled"]


class DraftStatus(msgspec.Struct, frozen=True):
    """A branch with a preview: its address and its state.

    Attributes:
        slug: the branch in the address.
        commit: the newest commit.
        state: `asleep` until the first request, `awake` while it serves; `stalled` with a message
            and diagnostics.
        release: the release that serves the draft, None without one.
        attempted: the commit that state, message and diagnostics are about, None while asleep.
    """

    branch: str
    slug: str
    commit: str
    url: str
    state: DraftState
    release: str | None
    message: str
    diagnostics: list[JsonDiagnostic]
    attempted: str | None = None

    def serves(self, commit: str) -> bool:
        """Return whether the draft responds with the files of a commit."""
        return self.state == "awake" and self.attempted == commit


class WorkflowToken(msgspec.Struct, frozen=True):
    """A token for the run of a workflow: for one project, and for ten minutes."""

    token: str
    expires_at: datetime
    project: str


class DraftAccess(msgspec.Struct, frozen=True):
    """A token for a draft, with its expiry."""

    url: str
    token: str
    expires_at: str


class PullStatus(msgspec.Struct, frozen=True):
    """An open pull request of a hosted repository, as this server sees it.

    Attributes:
        head: the proposed commit.
        url: its page on the forge.
        runs: whether the server runs its code: tests and preview.
        check: the result of `bbops/check` in a line; empty until it is known, as `plan`.
        is_ok: whether both are a success.
        preview: the address of its draft; empty without one.
        waits: why its head is not checked yet; empty unless it was postponed.
        reason: the first line of why it cannot go live; empty if it can, or is not known.
    """

    number: int
    title: str
    author: str
    branch: str
    head: str
    url: str
    is_fork: bool
    is_draft: bool
    runs: bool
    check: str
    plan: str
    is_ok: bool
    preview: str
    waits: str = ""
    reason: str = ""


class ForgeStatus(msgspec.Struct, frozen=True):
    """The pull requests of a project on its forge.

    Attributes:
        problem: why the forge is not up to date; empty if it is.
        postponed: why pull requests from forks wait; empty unless some do.
    """

    repository: str
    problem: str
    pulls: list[PullStatus]
    postponed: str = ""


class AllowedPull(msgspec.Struct, frozen=True):
    """The commit of a fork's pull request whose tests and preview run now."""

    number: int
    head: str


class ProposalTestResult(msgspec.Struct, frozen=True):
    """The test results of a proposal.

    Attributes:
        state: `unknown` if the tests could not be run; `summary` has the reason.
        summary: the results in a line.
        diagnostics: the failures, with their places.
    """

    state: Literal["running", "passed", "failed", "unknown"]
    summary: str
    passed: int = 0
    failed: int = 0
    seconds: float = 0.0
    diagnostics: list[JsonDiagnostic] = []

    @property
    def blocks_merge(self) -> bool:
        """Whether the results block a merge."""
        return self.state in {"failed", "unknown"}


class ChangedValue(msgspec.Struct, frozen=True):
    """A difference between two responses: a JSON pointer, empty for the body, and masked values."""

    at: str
    before: str
    now: str


class ChangedResponse(msgspec.Struct, frozen=True):
    """A request whose response would change: its status before and after, and the differences."""

    method: str
    route: str
    target: str
    before: int
    now: int
    places: tuple[ChangedValue, ...]


class ReplayResult(msgspec.Struct, frozen=True):
    """The differences between the responses of a proposal's draft and of the live API.

    Attributes:
        head: the commit that the draft served.
        at: the time of the replay, in seconds since 1970.
        asked: the number of replayed requests.
        left: the number of skipped requests: signed in, with a secret, or too slow.
        changed: the requests whose responses would change.
    """

    head: str
    at: float
    asked: int
    left: int
    changed: tuple[ChangedResponse, ...]


class OtherProject(msgspec.Struct, frozen=True):
    """The effects of a proposal on another project of the repository; its files are in `folder`."""

    project: str
    folder: str
    plan: dict[str, Any] | None
    text: str
    diagnostics: list[JsonDiagnostic]
    tests: ProposalTestResult | None


class ProposalDetail(msgspec.Struct, frozen=True):
    """A proposal, the effects of merging it now, and the reasons that block it.

    `obstacles` is empty when it can be merged. `digest` identifies its effects: an approval is for
    one digest, and the approvals of the users in `outdated` are for an older one. `tests` run when
    a change of the proposal is first viewed; null if it has errors or conflicts. `diff` is the
    output of `git diff`, at most 256 kB. For a merged or closed proposal, all of these are as they
    were when it was last viewed before that. `replayed` has the changed responses of its draft;
    null if requests were not replayed for this commit, or the user may not read the result.
    `others` are the other projects of the repository that it changes, `hidden` the number of
    projects that the user may not read; then `diff` only has the changes of this project.
    `warnings` do not block it, such as failed tests without a gate. `own_approval` is a sentence
    about whether the user's approval counts; empty for a user who cannot approve it.
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
    tests: ProposalTestResult | None = None
    diff: str = ""
    replayed: ReplayResult | None = None
    others: tuple[OtherProject, ...] = ()
    hidden: int = 0
    warnings: tuple[str, ...] = ()
    own_approval: str = ""


class RollbackResult(msgspec.Struct, frozen=True):
    """The commit that restores a version: in proposal `proposal`, or on the branch if that is 0.

    `page` is the address of the proposal. The project's status shows when it is live.
    """

    commit: str
    branch: str
    version: str
    proposal: int = 0
    page: str = ""


class FrontendResult(msgspec.Struct, frozen=True):
    """A published frontend; `message` has the reason if it is not live."""

    version: str
    commit: str
    is_live: bool
    message: str


class FrontendFile(msgspec.Struct, frozen=True):
    """A file of a frontend; `packed_bytes` is its size as sent, 0 if it is sent unpacked."""

    path: str
    size_bytes: int
    packed_bytes: int
    type: str


class LiveFrontend(msgspec.Struct, frozen=True):
    """The live frontend; `tagged` is its own revision, empty if it is part of the commit."""

    name: str
    tagged: str
    files: list[FrontendFile]


class MergeResult(msgspec.Struct, frozen=True):
    """The result of a merge."""

    proposal: Proposal
    lines: list[str]
    is_live: bool


class ApiResponse(msgspec.Struct, frozen=True):
    """A response of a project's API; `value` is its JSON, null without a body."""

    status: int
    release: str
    value: Any


class McpAddress(msgspec.Struct, frozen=True):
    """The MCP address of a project; opaque, and never built from its name."""

    mcp_url: str


class IssuedKey(msgspec.Struct, frozen=True):
    """A new API key, in the only response that contains it: the server stores a hash."""

    id: str
    key: str


class ApiKeyInfo(msgspec.Struct, frozen=True):
    """An API key without its secret; times are seconds since 1970, `channels` null means all.

    `used_at` is the time of its last use, up to a minute late; null if it was never used.
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
        """Return whether the key has expired or was revoked."""
        return self.revoked_at is not None or (self.expires_at or now + 1) <= now


class WebhookMessage(msgspec.Struct, frozen=True):
    """A message to a webhook receiver with its last attempt; see `bbops hooks`.

    `outcome` is waiting, taken or dropped, `status` the status of the receiver's response, if any.
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
    """Return the message in `{"error": "…"}` or `{"error": {"message": "…"}}`; empty without."""
    try:
        body: Any = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    error = body.get("error") if isinstance(body, dict) else None
    text = error.get("message") if isinstance(error, dict) else error
    return text if isinstance(text, str) else ""
