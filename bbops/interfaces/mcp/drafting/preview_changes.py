"""Say what changes would do: a tree that nothing names yet, and all that follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from bbops.base.errors import DatabaseError
from bbops.build.check import CheckedProject
from bbops.edit.authoring.changing import ChangedTree
from bbops.interfaces.mcp.drafting.bench import Bench
from bbops.interfaces.mcp.drafting.changing import Bytes, change_files
from bbops.interfaces.mcp.drafting.fixing import Fixes
from bbops.interfaces.mcp.drafting.plans import Plan
from bbops.interfaces.mcp.drafting.serialization import cut, tell
from bbops.interfaces.mcp.project.preview_changes import Consequence, Migration, Preview, Wanted
from bbops.interfaces.mcp.tool import Call, Refused
from bbops.review.plan.finding import Finding
from bbops.review.plan.live import complete, read_answer
from bbops.review.plan.plan import Plan as Consequences
from bbops.review.plan.plan import plan as compare
from bbops.review.plan.render import phrases
from bbops.review.plan.tables import TableChange
from bbops.source.git.writing import NOTHING, put_files, write_blobs
from bbops.source.tree import Tree

MOST_DIFF: Final = 12_000
MOST_TOLD: Final = 25
"""Of each kind of consequence."""


def do(bench: Bench, taken: Wanted) -> Preview:
    """Return it; what was written is a tree that only the plan names."""
    is_own = bool(taken.draft) and taken.draft != bench.live
    head = bench.resolve(taken.draft) if is_own else None
    if is_own and head is None:
        bench.require_free(bench.require_name(taken.draft))  # it is made when the plan is applied
    base = head or bench.head
    files = change_files(bench.tree(base), taken.changes)
    if not files:
        call = Call("context_read", {"refs": [one.ref for one in taken.changes][:20]}, "compare")
        raise Refused(
            "nothing would change", hint="the draft already has this content", next=(call,)
        )
    plan = Plan(base, write_tree(bench, base, files), head or NOTHING)
    return preview(bench, plan, taken.draft if is_own else "", files)


def write_tree(bench: Bench, base: str, files: Bytes) -> str:
    """Write the files into the repository and return the tree that a commit's becomes by them."""
    place = bench.store.place
    there = {path: data for path, data in files.items() if data is not None}
    blobs = dict(zip(there, write_blobs(place, list(there.values())), strict=True))
    put = {bench.path(path): ("100644", blobs[path]) if path in blobs else None for path in files}
    return put_files(place, base, put)


def preview(bench: Bench, plan: Plan, draft: str, files: Bytes) -> Preview:
    """Return what a plan would do."""
    tree = bench.tree(plan.tree)
    project, found = bench.check(tree)
    text, is_cut = cut(bench.diff(plan.base, plan.tree), MOST_DIFF)
    diagnostics, _ = tell(found, Fixes(tree).find)
    follows = find_consequences(bench, plan.base, project) if project else None
    told = _tell(follows) if follows else _tell_rows(bench, plan.base, tree)
    return Preview(
        plan=str(plan), base=plan.base, draft=draft, ok=project is not None, diff=text,
        is_diff_cut=is_cut, diagnostics=diagnostics,
        files={path: "removed" if data is None else "written" for path, data in files.items()},
        summary=phrases.summary(follows) if follows else "it has errors: see the diagnostics",
        **told,
    )  # fmt: skip


def find_consequences(bench: Bench, base: str, then: CheckedProject) -> Consequences | None:
    """Return what a project does to that which the live branch held where `base` left it."""
    now, _ = bench.check(bench.tree(bench.fork(base)))
    if now is None:
        return None
    found = compare(now, then)
    if bench.weigh is None:
        return found
    try:
        return complete(found, read_answer(bench.weigh(then)))
    except DatabaseError:  # it is away: what is known without it is better than nothing
        return found


def _tell_rows(bench: Bench, base: str, then: Tree) -> dict[str, Any]:
    """Return what becomes of rows, where all that is wrong stands outside of tables."""
    now, _ = bench.check(_tables_alone(bench.tree(bench.fork(base))))
    head, _ = bench.check(_tables_alone(then))
    return {"migration": migrations(compare(now, head).tables)} if now and head else {}


def _tables_alone(tree: Tree) -> Tree:
    others = [one.path for one in tree.entries() if not one.path.startswith("tables/")]
    return ChangedTree(tree, dict.fromkeys(others) | {"project.yaml": b"bbops: 1\nname: tables\n"})


def _tell(found: Consequences) -> dict[str, Any]:
    routes = (
        f"{one.verb} {one.method} {one.path}: {phrases.of_route(one)}" for one in found.routes
    )
    return {
        "routes": [*routes][:MOST_TOLD], "breaking": _findings(found.breaks),
        "access": _findings(found.access), "jobs": _jobs(found),
        "migration": migrations(found.tables),
        "missing_env": [one.name for one in found.needs.env][:MOST_TOLD],
        "approvals": found.verdict.approvals, "reasons": list(found.verdict.reasons),
        "refused": list(found.verdict.refused), "live_data": found.looked,
    }  # fmt: skip


def _findings(found: Sequence[Finding]) -> list[Consequence]:
    return [
        Consequence(one.code, one.subject, one.message, one.cure, one.file)
        for one in found[:MOST_TOLD]
    ]


def _jobs(found: Consequences) -> list[Consequence]:
    return [
        Consequence(one.code, one.work, phrases.of_jobs(one), one.cure, one.file)
        for one in phrases.of_work(found)[:MOST_TOLD]
    ]


def migrations(found: Sequence[TableChange]) -> list[Migration]:
    """Return changes of tables; which keys the rows have that they touch is not said."""
    return [
        Migration(_of_table(one), one.risk, one.cure if one.risk != "safe" else "")
        for one in found[:MOST_TOLD]
    ]


def _of_table(one: TableChange) -> str:
    why = f"{one.rows} {one.why}" if one.why and one.rows else one.why
    return f"{one.kind} '{one.name}'" + (f": {why}" if why else "")
