"""The work of `bbops ci publish`: wait until a server has published the commit of a job."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final, Literal

from bbops.base.errors import BbopsError
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.interfaces.answers import ProjectCondition, Status
from bbops.interfaces.ci.session import JobSession
from bbops.review.plan.render.markdown import code, escape

PublishState = Literal["live", "superseded", "stalled", "unseen"]

_ASK_AGAIN_SECONDS: Final = 10.0
_SHORT: Final = 12


@dataclass(frozen=True, slots=True)
class PublishReport:
    """The result of `bbops ci publish`.

    Attributes:
        state: "live"; "superseded" if a newer commit that contains this one is live; "stalled" if
            this commit, or a newer commit that contains it, cannot be published; or "unseen".
        commit: the commit of the job.
        live: the live commit; empty without one.
        release: the live release; so are `version` and `url`.
        reason: of a stalled commit, such as "ReviewMissing".
        message: the reason as a sentence; else empty.
    """

    project: str
    state: PublishState
    commit: str
    live: str
    release: str
    version: str
    url: str
    reason: str
    message: str
    diagnostics: tuple[JsonDiagnostic, ...]

    @property
    def is_ok(self) -> bool:
        """Whether the content of the commit is live."""
        return self.state in {"live", "superseded"}


def wait_for_commit(session: JobSession, commit: str) -> PublishReport:
    """Make a server fetch its repository now, and wait until a commit is live or has stalled.

    Args:
        session: the job's access to the server, with the end of the wait.
        commit: a whole id.

    Raises:
        WaitTimeout: the server did not respond until the end.
        ServerError: the server refused a request.
    """
    requested_at = _request(session)
    asked = time.monotonic()
    while True:
        status = session.ask(
            lambda remote: remote.status(session.project, commit=commit, seconds=session.seconds)
        )
        report = judge(status, commit, requested_at, session.run.branch)
        if report is not None:
            return report
        if session.left <= 0:
            return _unseen(status, commit)
        if time.monotonic() - asked > _ASK_AGAIN_SECONDS and not status.is_reconciling:
            requested_at, asked = _request(session), time.monotonic()
        session.pause()


def _request(session: JobSession) -> datetime:
    return session.ask(lambda remote: remote.reconcile(session.project))


def judge(
    status: Status, commit: str, requested_at: datetime, branch: str = ""
) -> PublishReport | None:
    """Return the result that a status shows; None while the server may still publish the commit.

    Args:
        status: the status, with the place of the commit.
        commit: a whole id.
        requested_at: the time of the request; an older status may be about an earlier commit.
        branch: the branch of the job; empty if unknown.
    """
    conclude = partial(_conclude, status, commit)
    place = status.commit
    is_attempted = _id(status.attempted_revision) == commit
    if _id(status.applied_revision) == commit or (place is not None and place.is_live):
        return conclude("live")
    if place is not None and place.is_in_live:
        return conclude("superseded")
    is_handled = status.handled_at is not None and status.handled_at >= requested_at
    if not is_handled or status.is_reconciling:
        return None
    stalled = status.find("Stalled")
    if stalled is not None and (is_attempted or (place is not None and place.is_in_attempted)):
        return conclude("stalled", stalled)
    if branch and branch != status.branch:
        return _unseen(status, commit, f"this job is about branch '{branch}'")
    return None


def outputs_of(report: PublishReport) -> Mapping[str, object]:
    """Return the outputs of the step."""
    return {
        "state": report.state, "live-sha": report.live, "version": report.version,
        "url": report.url, "release": report.release,
    }  # fmt: skip


def headline(report: PublishReport) -> str:
    """Return the result as a sentence."""
    commit, live = report.commit[:_SHORT], report.live[:_SHORT] or "nothing"
    version = f" as {report.version}" if report.version else ""
    match report.state:
        case "live":
            return f"live: {commit}{version} at {report.url}"
        case "superseded":
            return f"superseded: {live}, which contains {commit}, is live{version} at {report.url}"
        case "stalled":
            return f"not live: {live} keeps serving [{report.reason}]"
    return f"not live: {report.message}"


def render_markdown(report: PublishReport) -> str:
    """Return the result as Markdown for the summary of the step."""
    rows = {"commit": report.commit, "live": report.live, "version": report.version,
            "release": report.release, "address": report.url}  # fmt: skip
    table = [f"| {name} | {code(value)} |" for name, value in rows.items() if value]
    parts = [
        f"### Publish: {escape(headline(report))}",
        "\n".join(["| | |", "| --- | --- |", *table]),
    ]
    if report.message and report.state == "stalled":
        parts.append(escape(report.message))
    return "\n\n".join(parts) + "\n"


def require_commit(commit: str) -> str:
    """Return the whole id of a commit.

    Raises:
        BbopsError: it is empty or abbreviated.
    """
    if len(commit) not in {40, 64} or not set(commit) <= set("0123456789abcdef"):
        found = f"'{commit}' is not the whole id of a commit" if commit else "no commit is given"
        raise BbopsError(found, hint="for example: --commit $(git rev-parse HEAD)")
    return commit


def _conclude(
    status: Status, commit: str, state: PublishState, stalled: ProjectCondition | None = None,
    message: str = "",
) -> PublishReport:  # fmt: skip
    newer = "" if _id(status.attempted_revision) == commit else "a newer commit has stalled: "
    return PublishReport(
        status.name, state, commit, _id(status.applied_revision), status.release or "",
        status.version or "", status.url, stalled.reason if stalled else "",
        f"{newer}{stalled.message}" if stalled else message,
        tuple(status.diagnostics) if stalled else (),
    )  # fmt: skip


def _unseen(status: Status, commit: str, why: str = "") -> PublishReport:
    seen = _id(status.attempted_revision)[:_SHORT]
    at = f" at {seen}" if seen else ", which has no commit yet"
    verb = "has not finished" if status.is_reconciling else "has not seen"
    message = f"the server follows branch '{status.branch}'{at}, and {verb} {commit[:_SHORT]}"
    stalled = status.find("Stalled")
    known = why or (f"[{stalled.reason}] {stalled.message}" if stalled else "")
    return _conclude(status, commit, "unseen", message=f"{message}; {known}" if known else message)


def _id(revision: str | None) -> str:
    return (revision or "").rpartition(":")[2]
