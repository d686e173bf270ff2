"""The shared texts of all forms of a plan: its summary, and the names of changes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bbops.base.render import counted_rows, plural
from bbops.review.plan.addons import writing_steps
from bbops.review.plan.changes import ResourceChange, RouteChange
from bbops.review.plan.plan import Document, Plan
from bbops.review.plan.tables import TableChange
from bbops.review.plan.work import STRANDED, WorkChange

BREAKS = "Breaks for clients"
ACCESS = "Access that is loosened"
DATA = "Data"
JOBS = "Jobs"
NEEDS = "Needed before it goes live"
ROUTES = "Routes"
FILES = "Files"
SIGNS = {"added": "+", "changed": "~", "removed": "-", "moved": ">", "renamed": ">"}
NOBODY_LOOKED = (
    "which rows are touched is not known: nobody asked the live database"
    " ('bbops db plan --json | bbops plan --rows -' does)"
)

_SHORT = 12


def summary(plan: Plan) -> str:
    """Return the summary of a plan, most severe first: `1 break, 2 losses of data, 3 routes`."""
    return ", ".join(_counts(plan)) or "nothing changes"


def _counts(plan: Plan) -> Iterator[str]:
    losses = sum(table.risk == "destructive" for table in plan.tables)
    unknown = sum(table.risk == "depends" for table in plan.tables)
    if plan.verdict.refused:
        yield "refused"
    if plan.breaks:
        yield plural(len(plan.breaks), "break")
    if plan.access:
        yield f"access loosened in {plural(len(plan.access), 'place')}"
    if losses:
        yield "1 loss of data" if losses == 1 else f"{losses} losses of data"
    if unknown:
        yield f"{plural(unknown, 'change')} of data that rows decide on"
    if stranded := sum(change.code == STRANDED for change in of_work(plan)):
        yield f"jobs held in {plural(stranded, 'place')}"
    for word, changes in (("route", plan.routes), ("file", plan.resources)):
        if changes:
            yield plural(len(changes), word)


def between(document: Document) -> str:
    """Return `main 3f2a91c0d4e5 → this folder`."""
    return f"{revision(document.base.revision)} → {revision(document.head.revision)}"


def revision(name: str) -> str:
    """Return a revision in a short form for people."""
    if name == "working-tree":
        return "this folder"
    branch, _, commit = name.rpartition(":")
    named = branch.rpartition("@")[0]
    if re.fullmatch(r"[0-9a-f]{40}\^?", named):
        return commit[:_SHORT]
    return commit[:_SHORT] if commit.startswith(named) else f"{named} {commit[:_SHORT]}"


def approvals(plan: Plan) -> str:
    """Return the requirements of its review."""
    verdict = plan.verdict
    if verdict.refused:
        return "cannot go live as it is"
    who = "a person or an agent" if plan.rules.agents == "merge" else "a person"
    if verdict.approvals:
        return f"needs {plural(verdict.approvals, 'approval')}; {who} merges it"
    if plan.rules.main == "proposals":
        return f"needs a proposal; {who} merges it"
    return "needs no approval"


def of_route(change: RouteChange) -> str:
    """Return the changes of a route, in a few words."""
    if change.verb in {"added", "removed"}:
        return f"authentication {change.authentication}"
    was = [f"was {change.was}"] if change.was else []
    return ", ".join([*was, *change.changes])


def of_resource(change: ResourceChange) -> str:
    """Return the changes of a file, in a few words."""
    was = [f"was {change.was}"] if change.was else []
    return ", ".join([*was, *change.keys])


def of_table(change: TableChange) -> str:
    """Return `drop column 'notes.done' (3 rows would lose their value: id 1, 2, 3)`."""
    why = change.why
    if why and change.rows:
        why = counted_rows(change.rows, why)
    if why and change.keys:
        why = f"{why}: {change.keys}"
    said = f"{change.kind} '{change.name}'" + (f" ({why})" if why else "")
    return f"{said}, {change.when}" if change.when else said


def of_work(plan: Plan) -> list[WorkChange]:
    """Return the effects on jobs that matter."""
    return [change for change in plan.work if not change.is_moot]


def of_jobs(change: WorkChange) -> str:
    """Return an effect on jobs, with their numbers and the next times."""
    said = change.message
    if change.begun or change.waiting:
        said += f" ({change.begun} begun, {change.waiting} waiting)"
    return f"{said}; next: {', '.join(change.ticks)}" if change.ticks else said


def needs(plan: Plan) -> Iterator[str]:
    """Yield the tasks and notes before a plan goes live."""
    for variable in plan.needs.env:
        secret = " (secret)" if variable.secret else ""
        state = "has no value" if plan.needs.known else "is new and has no default"
        yield f"env {variable.name}{secret} {state}: bbops env set {variable.name}"
    if plan.needs.env and not plan.needs.known:
        yield "not checked on a server whether these have values"
    listed = {finding.subject for finding in plan.access}
    for name in plan.needs.enabled:
        writes = "" if f"addon {name}" in listed else writing_steps(name)
        yield f"addon {name} is switched on; {writes}" if writes else f"addon {name} is switched on"
    yield from (f"addon {name} is switched off: its steps fail" for name in plan.needs.disabled)
    yield from (f"the workspace needs the feature {name}" for name in plan.needs.features)
