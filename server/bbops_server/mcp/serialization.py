"""Tell agents of statuses and proposals; none of it without a bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.interfaces.answers import Publication
from bbops.interfaces.mcp.models import ProposalSummary, ToolDiagnostic
from bbops.interfaces.mcp.project_backend import CommitProgress, PullRequestDetail, ReviewComment
from bbops.interfaces.mcp.refs import ref_of
from bbops.source.git.proposals import Proposal
from bbops.source.git.revisions import commit_of
from bbops_server.publish.impact.impact import ProjectImpact
from bbops_server.publish.proposals.merge_status import MergeStatus
from bbops_server.publish.status.status import StatusBoard

MOST_FOUND: Final = 40
_LONGEST: Final = 2_000


def serialize_diagnostics(diagnostics: Iterable[JsonDiagnostic]) -> tuple[ToolDiagnostic, ...]:
    """Return diagnostics that crossed a process as agents read them."""
    return tuple(_found(one) for one in [*diagnostics][:MOST_FOUND])


def _found(one: JsonDiagnostic) -> ToolDiagnostic:
    return ToolDiagnostic(
        one.severity, one.code, one.message, one.hint, str(ref_of(one.file) or ""), one.file,
        one.line,
    )  # fmt: skip


def serialize_proposal(one: Proposal) -> ProposalSummary:
    """Return a proposal as a line of a list."""
    return ProposalSummary(
        one.number, one.title, one.topic, one.state, one.author, one.head, one.ready
    )


def serialize_proposal_detail(
    one: Proposal, merge_status: MergeStatus, page: str, preview: str
) -> PullRequestDetail:
    """Return a proposal and how it stands."""
    candidate = merge_status.candidate
    is_open = one.state == "open"
    result = candidate.commit if candidate else one.merged
    return PullRequestDetail(
        number=one.number, url=page, title=one.title, description=one.description,
        author=one.author, draft=one.topic, state=one.state, head=one.head, ready=one.ready,
        reviewers=one.reviewers, by_person=merge_status.demands.agents != "merge",
        base=candidate.base if candidate and candidate.commit else "", result=result,
        preview=preview if is_open else "", waits=is_waiting(merge_status),
        obstacles=merge_status.obstacles if is_open else (),
        summary=merge_status.summary if is_open else "", plan="\n".join(_plans(merge_status)),
        tests="; ".join(_tests(merge_status)),
        diagnostics=serialize_diagnostics(_all_diagnostics(merge_status)),
        reviews=tuple(
            ReviewComment(each.who, each.at.isoformat(timespec="seconds"), each.verdict,
                   each.text[:_LONGEST])
            for each in one.reviews
        ),
    )  # fmt: skip


def _plans(merge_status: MergeStatus) -> Iterator[str]:
    """Yield the lines of the plans of all changed projects."""
    yield from _plan(merge_status.plan)
    for other in merge_status.others:
        yield from (f"in project '{other.project}': {line}" for line in _plan(other.plan))


def _tests(merge_status: MergeStatus) -> Iterator[str]:
    if merge_status.tests:
        yield merge_status.tests.summary
    for other in merge_status.others:
        if other.tests:
            yield f"in project '{other.project}': {other.tests.summary}"


def _all_diagnostics(merge_status: MergeStatus) -> Iterator[JsonDiagnostic]:
    yield from _diagnostics(merge_status)
    for other in merge_status.others:
        yield from _diagnostics(other)


def _diagnostics(found: MergeStatus | ProjectImpact) -> list[JsonDiagnostic]:
    """Return the diagnostics of a project, with paths from the root of its repository."""
    every = [*found.diagnostics, *(found.tests.diagnostics if found.tests else ())]
    if not isinstance(found, ProjectImpact) or not found.folder:
        return every
    return [replace(problem, file=f"{found.folder}/{problem.file}") for problem in every]


def _plan(document: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the lines of a plan, without keys of live rows, which agents may not see."""
    if document is None:
        return
    plan = document["plan"]
    for title, name in (("breaks", "breaks"), ("loosens", "access")):
        yield from (f"{title} {found['subject']}: {found['message']}" for found in plan[name])
    for change in plan["tables"]:
        what = ".".join(filter(None, (change["table"], change["what"])))
        rows, why = change["rows"] or "", change["why"]
        shown = f" ({rows} {why})".replace("( ", "(") if why else ""
        yield f"{change['risk']}: {change['kind']} '{what}'{shown}"
    yield from (f"needs env {variable['name']}" for variable in plan["needs"]["env"])
    yield from (f"{route['verb']} {route['method']} {route['path']}" for route in plan["routes"])


def is_waiting(merge_status: MergeStatus) -> bool:
    """Return whether a merge waits only for reviews or for running tests."""
    if merge_status.ended or merge_status.candidate is None:
        return False
    if merge_status.candidate.conflicts or merge_status.demands.refused:
        return False
    failed = any(gate.blocks_merge for gate in merge_status.gates)
    return not failed and not merge_status.voices.refused


def serialize_progress(board: StatusBoard, commit: str, newest: str) -> CommitProgress:
    """Return the progress of a commit.

    Args:
        board: of the project.
        commit: its id or first digits; empty for the newest.
        newest: the head of the live branch; empty if it is not known.
    """
    applied, attempted = commit_of(board.applied), commit_of(board.attempted)
    wanted = commit or newest or attempted or applied
    known = (
        applied,
        attempted,
        newest,
        *(commit_of(found.revision) for found in board.publications),
    )
    whole = next((found for found in known if found and found.startswith(wanted)), wanted)
    state, stage, message = _state(board, whole, applied, attempted, newest)
    found = board.diagnostics if state == "failed" and whole == attempted else ()
    return CommitProgress(
        whole, state, stage, applied, board.version, message, serialize_diagnostics(found)
    )


def _state(
    board: StatusBoard, commit: str, applied: str, attempted: str, newest: str
) -> tuple[Any, str, str]:  # fmt: skip
    stalled = board.stalled
    if commit and (commit == applied or board.serves(commit)):
        return "live", "", stalled.as_sentence() if stalled else ""
    if commit and commit == attempted:
        if board.conditions["Reconciling"].status:
            return "publishing", board.conditions["Reconciling"].reason, ""
        if stalled is not None:
            return "failed", stalled.reason, stalled.as_sentence()
    past = _past(board.publications, commit)
    if past is not None:
        if past.outcome == "live":
            return "superseded", "", f"it was live as {past.version}"
        return "failed", past.outcome, past.message
    if commit and commit == newest:
        return "queued", "", stalled.as_sentence() if stalled else ""
    return "unknown", "", "there was no attempt to publish this commit"


def _past(publications: Iterable[Publication], commit: str) -> Publication | None:
    found = [one for one in publications if commit_of(one.revision) == commit]
    return found[-1] if found else None
