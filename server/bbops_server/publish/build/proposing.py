"""Say what a proposal would do: two commits to diagnostics, a plan, and what it takes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bbops.base.diagnostics import Diagnostic
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.build.check import CheckedProject
from bbops.build.compile.release import check
from bbops.database.migrate.looking import Looked
from bbops.database.migrate.migrate import Migration, refusal
from bbops.database.migrate.serialization import as_json
from bbops.language.resources.project import Engine, Review
from bbops.language.resources.table import Table
from bbops.review.plan.changes import find_resources
from bbops.review.plan.document import Document, describe, encode, tree_id
from bbops.review.plan.live import complete, read_answer
from bbops.review.plan.pairs import Pairs
from bbops.review.plan.plan import plan
from bbops.review.plan.render.text import render_text
from bbops.review.plan.review import find_removal, read_rules
from bbops.review.plan.rules import compare_reviews, find_loosened_review
from bbops.review.plan.work import JobCounts
from bbops.runtime.work.engine import now_ms
from bbops.source.tree import Tree
from bbops_server.process.host.clock import SystemClock
from bbops_server.process.messages.proposals import ProposedChange
from bbops_server.publish.build.sources import Source, Sources
from bbops_server.publish.holds.approvals import approve, keep_waiting, read_approved


@dataclass(frozen=True, slots=True)
class Pair:
    """A project as it is now and as it would be; None where it has mistakes."""

    before: Tree
    after: Tree
    now: CheckedProject | None
    then: CheckedProject | None
    diagnostics: tuple[Diagnostic, ...]

    @property
    def tables(self) -> Mapping[str, Table] | None:
        """What the data would be in; None where nothing can be planned."""
        if self.now is None or self.then is None:
            return None
        return {name: one.model for name, one in self.then.tables.items()}


def read_pair(
    sources: Sources, base: Source, head: Source, *, off: Sequence[str], engine: Engine
) -> Pair:
    """Read two commits of one project."""
    before, cache = sources.open(base)
    now, _ = check(before, cache, database=engine, off=off, base=before)
    after, cache = sources.open(head)
    then, found = check(after, cache, database=engine, off=off, base=before)
    return Pair(before, after, now, then, found)


def judge(
    pair: Pair, looked: Looked | None, live: Review, work: JobCounts | None
) -> ProposedChange:  # fmt: skip
    """Return what the change would do and takes, by the rules of the project as it is now.

    Args:
        pair: what was read.
        looked: what it would do to the data; None where nothing can be planned.
        live: the rules of the release that is live, for a project that has mistakes now.
        work: the jobs that there are; None where nobody could count them.
    """
    whole: dict[str, Any] = {
        "diagnostics": [JsonDiagnostic.of(one) for one in pair.diagnostics],
        "tree": tree_id(pair.after) if pair.then else "", "gate": _is_gated(pair),
        "loosened": list(_find_loosened(pair, live)),
    }  # fmt: skip
    if looked is None or pair.now is None or pair.then is None:
        return ProposedChange(**whole, **_judge_mistakes(pair, live))
    answer = read_answer(as_json(looked.told, looked.triggers) | {"work": work})
    found = complete(plan(pair.now, pair.then, now=now_ms()), answer)
    document: Document = describe(found, pair.before, pair.after)
    return ProposedChange(
        **whole, digest=document.digest, plan=encode(document), text=render_text(document),
        approvals=found.verdict.approvals, reasons=list(found.verdict.reasons),
        refused=list(found.verdict.refused), agents=found.rules.agents,
    )  # fmt: skip


def read_live_rules(kept: Mapping[str, Any]) -> Review:
    """Return the rules of what is live by its record, which another version may have made."""
    known = {name: kept[name] for name in Review.model_fields if name in kept}
    return Review.model_validate(known, by_name=True)


def find_removed(sources: Sources, base: Source, head: Source, engine: Engine) -> str:
    """Return why a commit removes more than the rules of the one before it let; else nothing."""
    if not sources.store(base["repository"], base.get("quarantine", "")).has_commit(base["commit"]):
        return ""  # rewritten, which is another decision
    now, _ = check(*sources.open(base), database=engine, off=())
    if now is None or read_rules(now).most is None:
        return ""
    then, _ = check(*sources.open(head), database=engine, off=())
    return find_removal(read_rules(now), find_resources(Pairs(now, then))) if then else ""


def agree(state: Path, migration: Migration, who: str) -> None:
    """Let the data lose what a migration says, where it waits for that word.

    Raises:
        ServerError: the state folder cannot be written.
    """
    if migration.is_waiting:
        keep_waiting(state, migration)
        approve(state, migration.hash, who=who, at=SystemClock().now())


def find_wait(state: Path, migration: Migration) -> str:
    """Return why the tables would not follow by themselves; empty where they would."""
    is_agreed = migration.is_waiting and migration.hash in read_approved(state)
    return "" if is_agreed or not migration.refused else refusal(migration).message


def _find_loosened(pair: Pair, live: Review) -> Iterator[str]:
    """Yield how changes would need less of a review than now."""
    if pair.then is None:
        return
    new = pair.then.settings.model
    looser = (
        find_loosened_review(pair.now.settings.model, new) if pair.now
        else compare_reviews(live, new.review)
    )  # fmt: skip
    yield from (message for message, _ in looser)


def _is_gated(pair: Pair) -> bool:
    """Return whether tests that fail keep it away: a proposal cannot do away with that itself."""
    return any(one.settings.model.tests.gate for one in (pair.now, pair.then) if one is not None)


def _judge_mistakes(pair: Pair, live: Review) -> dict[str, Any]:
    rules = pair.now.settings.model.review if pair.now else live
    approvals, reasons = rules.approvals, list[str]()
    if pair.now is None and rules.destructive.approvals > approvals:
        approvals = rules.destructive.approvals
        reasons.append("the project has errors now, so the change cannot be described")
    trees = f"{tree_id(pair.before)} {tree_id(pair.after)}"
    refused = ["it would not work: see the errors"] if pair.then is None else []
    return {
        "digest": hashlib.sha256(trees.encode()).hexdigest(), "plan": None, "text": "",
        "approvals": approvals, "agents": rules.agents, "reasons": reasons, "refused": refused,
    }  # fmt: skip
