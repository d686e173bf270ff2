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
        diagnostics=serialize_diagnostics(_wrong_in_all(merge_status)),
        reviews=tuple(
            ReviewComment(each.who, each.at.isoformat(timespec="seconds"), each.verdict,
                   each.text[:_LONGEST])
            for each in one.reviews
        ),
    )  # fmt: skip


def _plans(merge_status: MergeStatus) -> Iterator[str]:
    """Yield what the plans of all projects come to that it changes."""
    yield from _plan(merge_status.plan)
    for one in merge_status.others:
        yield from (f"in project '{one.project}': {line}" for line in _plan(one.plan))


def _tests(merge_status: MergeStatus) -> Iterator[str]:
    if merge_status.tests:
        yield merge_status.tests.summary
    for one in merge_status.others:
        if one.tests:
            yield f"in project '{one.project}': {one.tests.summary}"


def _wrong_in_all(merge_status: MergeStatus) -> Iterator[JsonDiagnostic]:
    yield from _wrong_in(merge_status)
    for one in merge_status.others:
        yield from _wrong_in(one)


def _wrong_in(one: MergeStatus | ProjectImpact) -> list[JsonDiagnostic]:
    """Return what is wrong with a project, by files from the root of their repository."""
    every = [*one.diagnostics, *(one.tests.diagnostics if one.tests else ())]
    if not isinstance(one, ProjectImpact) or not one.folder:
        return every
    return [replace(each, file=f"{one.folder}/{each.file}") for each in every]


def _plan(document: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield what a plan comes to; the keys of live rows are none of an agent's business."""
    if document is None:
        return
    plan = document["plan"]
    for title, name in (("breaks", "breaks"), ("loosens", "access")):
        yield from (f"{title} {one['subject']}: {one['message']}" for one in plan[name])
    for one in plan["tables"]:
        what = ".".join(filter(None, (one["table"], one["what"])))
        why = f" ({one['rows'] or ''} {one['why']})".replace("( ", "(") if one["why"] else ""
        yield f"{one['risk']}: {one['kind']} '{what}'{why}"
    yield from (f"needs env {one['name']}" for one in plan["needs"]["env"])
    yield from (f"{one['verb']} {one['method']} {one['path']}" for one in plan["routes"])


def is_waiting(merge_status: MergeStatus) -> bool:
    """Return whether only the word of people, or tests that run, is between it and a merge."""
    if merge_status.ended or merge_status.candidate is None:
        return False
    if merge_status.candidate.conflicts or merge_status.demands.refused:
        return False
    failed = any(one.blocks_merge for one in merge_status.gates)
    return not failed and not merge_status.voices.refused


def serialize_progress(board: StatusBoard, commit: str, newest: str) -> CommitProgress:
    """Return how far a commit is.

    Args:
        board: of the project.
        commit: its id or first digits; empty for the newest.
        newest: the commit that the live branch holds; empty where nobody knows.
    """
    applied, attempted = commit_of(board.applied), commit_of(board.attempted)
    wanted = commit or newest or attempted or applied
    known = (applied, attempted, newest, *(commit_of(one.revision) for one in board.publications))
    whole = next((one for one in known if one and one.startswith(wanted)), wanted)
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
