"""The effect of a proposal: from two commits to diagnostics, a plan, and requirements."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bbops.base.diagnostics import Diagnostic
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.compiler.check import CheckedProject
from bbops.compiler.compile.release import check
from bbops.database.migrate.looking import Looked
from bbops.database.migrate.migrate import Migration, refusal
from bbops.database.migrate.rollout_plan import as_json
from bbops.language.resources.project import Engine, Review
from bbops.language.resources.table import Table
from bbops.review.plan.changes import Pairs, find_resources
from bbops.review.plan.live import complete, read_answer
from bbops.review.plan.plan import Document, describe, encode, plan, tree_id
from bbops.review.plan.render.text import render_text
from bbops.review.plan.review import find_removal, read_rules
from bbops.review.plan.rules import compare_reviews, find_loosened_review
from bbops.review.plan.work import JobCounts
from bbops.runtime.work.engine import now_ms
from bbops.source.tree import Tree
from bbops_server.process.host.system import SystemClock
from bbops_server.process.messages.proposals import ProposedChange
from bbops_server.publish.build.sources import OpenSources, SourceFields
from bbops_server.publish.holds.approvals import approve, read_approved, record_waiting


@dataclass(frozen=True, slots=True)
class ProjectPair:
    """A project before and after a change; None for one with errors."""

    before: Tree
    after: Tree
    now: CheckedProject | None
    then: CheckedProject | None
    diagnostics: tuple[Diagnostic, ...]

    @property
    def tables(self) -> Mapping[str, Table] | None:
        """The tables after the change; None if it cannot be planned."""
        if self.now is None or self.then is None:
            return None
        return {name: table.model for name, table in self.then.tables.items()}


def read_pair(
    sources: OpenSources,
    base: SourceFields,
    head: SourceFields,
    *,
    off: Sequence[str],
    engine: Engine,
) -> ProjectPair:
    """Read two commits of one project."""
    before, cache = sources.open(base)
    now, _ = check(before, cache, database=engine, off=off, base=before)
    after, cache = sources.open(head)
    then, diagnostics = check(after, cache, database=engine, off=off, base=before)
    return ProjectPair(before, after, now, then, diagnostics)


def assess(
    pair: ProjectPair, impact: Looked | None, live: Review, work: JobCounts | None
) -> ProposedChange:  # fmt: skip
    """Return the effect and the requirements of a change, by the project's current rules.

    Args:
        pair: the project before and after the change.
        impact: the effect on the live data; None if it cannot be planned.
        live: the rules of the live release, for a project that has errors now.
        work: the numbers of jobs; None if unknown.
    """
    common: dict[str, Any] = {
        "diagnostics": [JsonDiagnostic.of(diagnostic) for diagnostic in pair.diagnostics],
        "tree": tree_id(pair.after) if pair.then else "", "gate": _is_gated(pair),
        "loosened": list(_find_loosened(pair, live)),
    }  # fmt: skip
    if impact is None or pair.now is None or pair.then is None:
        return ProposedChange(**common, **_assess_with_errors(pair, live))
    answer = read_answer(as_json(impact.told, impact.triggers) | {"work": work})
    planned = complete(plan(pair.now, pair.then, now=now_ms()), answer)
    document: Document = describe(planned, pair.before, pair.after)
    return ProposedChange(
        **common, digest=document.digest, plan=encode(document), text=render_text(document),
        approvals=planned.verdict.approvals, reasons=list(planned.verdict.reasons),
        refused=list(planned.verdict.refused), agents=planned.rules.agents,
    )  # fmt: skip


def read_live_rules(recorded: Mapping[str, Any]) -> Review:
    """Return the rules of a live record, which another bbops version may have written."""
    known = {name: recorded[name] for name in Review.model_fields if name in recorded}
    return Review.model_validate(known, by_name=True)


def find_removed(
    sources: OpenSources, base: SourceFields, head: SourceFields, engine: Engine
) -> str:
    """Return why a commit removes more than the rules of its base allow; empty if it does not."""
    if not sources.store(base["repository"], base.get("quarantine", "")).has_commit(base["commit"]):
        return ""  # the history was rewritten, which is held for another reason
    now, _ = check(*sources.open(base), database=engine, off=())
    if now is None or read_rules(now).most is None:
        return ""
    then, _ = check(*sources.open(head), database=engine, off=())
    return find_removal(read_rules(now), find_resources(Pairs(now, then))) if then else ""


def agree(state: Path, migration: Migration, who: str) -> None:
    """Approve the losses of a migration, if it waits for approval.

    Raises:
        ServerError: the state folder cannot be written.
    """
    if migration.is_waiting:
        record_waiting(state, migration)
        approve(state, migration.hash, who=who, at=SystemClock().now())


def find_wait(state: Path, migration: Migration) -> str:
    """Return why the tables cannot be migrated without a decision; empty if they can."""
    is_agreed = migration.is_waiting and migration.hash in read_approved(state)
    return "" if is_agreed or not migration.refused else refusal(migration).message


def _find_loosened(pair: ProjectPair, live: Review) -> Iterator[str]:
    """Yield messages about relaxed rules of review."""
    if pair.then is None:
        return
    new = pair.then.settings.model
    looser = (
        find_loosened_review(pair.now.settings.model, new) if pair.now
        else compare_reviews(live, new.review)
    )  # fmt: skip
    yield from (message for message, _ in looser)


def _is_gated(pair: ProjectPair) -> bool:
    """Return whether failing tests block it; a proposal cannot remove that itself."""
    projects = (each for each in (pair.now, pair.then) if each is not None)
    return any(project.settings.model.tests.gate for project in projects)


def _assess_with_errors(pair: ProjectPair, live: Review) -> dict[str, Any]:
    rules = pair.now.settings.model.review if pair.now else live
    approvals, reasons = rules.approvals, list[str]()
    if pair.now is None and rules.destructive.approvals > approvals:
        approvals = rules.destructive.approvals
        reasons.append("the project has errors now, so the change cannot be described")
    trees = f"{tree_id(pair.before)} {tree_id(pair.after)}"
    refused = ["its project has errors"] if pair.then is None else []
    return {
        "digest": hashlib.sha256(trees.encode()).hexdigest(), "plan": None, "text": "",
        "approvals": approvals, "agents": rules.agents, "reasons": reasons, "refused": refused,
    }  # fmt: skip
