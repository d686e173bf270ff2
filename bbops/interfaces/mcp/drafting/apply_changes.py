"""Commit a plan to a draft; the same plan twice is the same commit."""

from __future__ import annotations

from bbops.base.errors import GitError
from bbops.interfaces.mcp.drafting.bench import Bench
from bbops.interfaces.mcp.drafting.plans import Plan, read_plan, require_sound
from bbops.interfaces.mcp.drafting.serialization import clean_message
from bbops.interfaces.mcp.project.apply_changes import Applied, Applying
from bbops.interfaces.mcp.tool import Call, Refused
from bbops.source.git.command import run
from bbops.source.git.writing import NOTHING, make_commit, move_branch


def do(bench: Bench, taken: Applying) -> Applied:
    """Commit it, unless that was done before.

    Raises:
        Refused: the draft has moved since the preview, or may not be written.
    """
    draft, plan = bench.require_own(taken.draft), read_plan(taken.plan)
    files = require_sound(bench, plan)
    head = bench.resolve(draft)
    if done := _find_done(bench, head, plan):
        return Applied(draft=draft, commit=done, files=files, was_there=True)
    old = _require_fresh(bench, draft, head, plan)
    message = clean_message(taken.message) or "Change"
    commit = make_commit(bench.store.place, plan.tree, [plan.base], message, bench.who)
    try:
        move_branch(bench.store.place, draft, old, commit, "apply a plan")
    except GitError:
        if done := _find_done(bench, bench.resolve(draft), plan):  # another call was as fast
            return Applied(draft=draft, commit=done, files=files, was_there=True)
        raise
    return Applied(draft=draft, commit=commit, files=files)


def _find_done(bench: Bench, head: str | None, plan: Plan) -> str:
    """Return the commit in a draft's history that is this plan's already; empty without one."""
    if head is None or not bench.store.has_commit(plan.base):
        return ""
    answer = run(
        bench.store.place,
        ("rev-list", "--first-parent", "--parents", "--max-count=1000", f"{plan.base}..{head}"),
    )
    rows = [line.split() for line in answer.output.decode(errors="replace").splitlines()]
    commit = next((row[0] for row in rows if row[1:2] == [plan.base]), "")
    is_it = commit and bench.store.trees([commit]).get(commit) == plan.tree
    return commit if is_it else ""


def _require_fresh(bench: Bench, draft: str, head: str | None, plan: Plan) -> str:
    """Return what the draft holds, NOTHING for a new one. Raises: Refused: the plan is stale."""
    if head is None and plan.head == NOTHING and bench.store.is_ancestor(plan.base, bench.head):
        bench.require_free(draft)
        return NOTHING
    if head == plan.base:
        return head
    again = Call("preview_changes", {"draft": draft}, "with the same changes")
    if head is None:
        raise Refused(f"draft '{draft}' is not there", hint="preview again", next=(again,))
    raise Refused(
        f"draft '{draft}' holds {head[:12]} by now, the plan builds on {plan.base[:12]}",
        hint="preview the same changes again, with this draft", next=(again,),
    )  # fmt: skip
