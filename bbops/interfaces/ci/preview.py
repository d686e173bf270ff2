"""The work of `bbops ci preview`: wait until the draft of a job's branch serves its commit."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bbops.base.errors import ServerError
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.interfaces.answers import DraftStatus
from bbops.interfaces.ci.report import render_section
from bbops.interfaces.ci.run import CiRun
from bbops.interfaces.ci.sections.preview import PreviewReport, make_section
from bbops.interfaces.ci.session import JobSession

FORK: Final = "the proposal comes from a fork: only branches of the repository itself have drafts"
_ASK_AGAIN_SECONDS: Final = 5.0
_SHORT: Final = 12


@dataclass(frozen=True, slots=True)
class DraftPreview:
    """The state of a draft; `draft` is its name in its address, empty without a draft."""

    report: PreviewReport
    draft: str = ""
    diagnostics: tuple[JsonDiagnostic, ...] = ()


def wait_for_draft(session: JobSession, branch: str, commit: str) -> DraftPreview:
    """Make a server build the draft of a branch, and wait until it serves a commit or has failed.

    Args:
        session: the job's access to the server, with the end of the wait.
        branch: the branch of the draft.
        commit: a whole id.

    Raises:
        WaitTimeout: the server did not respond until the end.
        ServerError: the server refused a request.
    """
    asked = 0.0
    while True:
        drafts = session.ask(lambda remote: remote.drafts(session.project))
        draft = next((draft for draft in drafts if draft.branch == branch), None)
        if draft is not None and draft.attempted == commit:
            if draft.serves(commit):
                return _result(session, commit, draft)
            if draft.state == "stalled":
                return _result(session, commit, draft, draft.message)
        if session.left <= 0:
            return _result(session, commit, draft, describe_wait(draft, branch, commit))
        if time.monotonic() - asked > _ASK_AGAIN_SECONDS:
            session.ask(lambda remote: remote.build_draft(session.project, branch))
            asked = time.monotonic()
        session.pause()


def describe_wait(draft: DraftStatus | None, branch: str, commit: str) -> str:
    """Return why a draft does not serve a commit at the end of the wait."""
    if draft is None:
        return (
            f"the server has no draft of branch '{branch}': the branch may not be in the repository"
            " that the server follows, the project may use PostgreSQL, or 'drafts' in server.yaml"
            " may allow no more"
        )
    if draft.commit != commit:
        return f"the newest commit of the draft is {draft.commit[:_SHORT]}, not {commit[:_SHORT]}"
    return f"the draft of branch '{branch}' is not ready: {draft.state}"


def require_branch(run: CiRun) -> str:
    """Return the branch of a job.

    Raises:
        ServerError: the job is not about a branch.
    """
    if not run.branch:
        raise ServerError("this job has no branch", hint="run it for pull requests and branches")
    return run.branch


def outputs_of(preview: DraftPreview) -> Mapping[str, object]:
    """Return the outputs of the step."""
    return {"url": preview.report.url, "draft": preview.draft, "state": preview.report.state}


def headline(preview: DraftPreview) -> str:
    """Return the state as a sentence."""
    report = preview.report
    if report.state == "live":
        return f"the draft of {report.commit[:_SHORT]} is at {report.url}"
    return f"no draft of {report.commit[:_SHORT]}: {report.message}"


def render_markdown(preview: DraftPreview) -> str:
    """Return the state as Markdown for the summary of the step."""
    return render_section(make_section(preview.report), 1) + "\n"


def _result(
    session: JobSession, commit: str, draft: DraftStatus | None, failure: str = ""
) -> DraftPreview:
    url, slug = (draft.url, draft.slug) if draft is not None else ("", "")
    diagnostics = tuple(draft.diagnostics) if draft is not None and failure else ()
    state = "failed" if failure else "live"
    report = PreviewReport(session.project, commit, state, url, failure)  # type: ignore[arg-type]
    return DraftPreview(report, slug, diagnostics)
