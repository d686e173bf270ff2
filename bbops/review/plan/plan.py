"""Turn two projects into a Plan: the effects of a change, as one frozen value."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass

import msgspec

from bbops.compiler.check import CheckedProject
from bbops.review.plan.access import find_access
from bbops.review.plan.breaking import find_breaks
from bbops.review.plan.changes import (
    Pairs,
    ResourceChange,
    RouteChange,
    find_resources,
    find_routes,
)
from bbops.review.plan.codes import Finding
from bbops.review.plan.review import Needs, Rules, Verdict, find_needs, judge, read_rules
from bbops.review.plan.tables import TableChange, find_tables
from bbops.review.plan.work import REFUSED, WorkChange, find_work


@dataclass(frozen=True, slots=True)
class Plan:
    """The effects of a change.

    Attributes:
        rules: the rules that judge it: from the project as it is now.
        breaks: the breaks for clients of today.
        access: the places with more access than today.
        work: the effects on jobs.
        looked: whether the live database has reported the touched rows.
    """

    rules: Rules
    verdict: Verdict
    breaks: tuple[Finding, ...]
    access: tuple[Finding, ...]
    tables: tuple[TableChange, ...]
    work: tuple[WorkChange, ...]
    looked: bool
    needs: Needs
    routes: tuple[RouteChange, ...]
    resources: tuple[ResourceChange, ...]

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes in the project's meaning, whatever its files look like."""
        return not (self.resources or self.routes or self.breaks or self.access or self.tables)


def plan(
    base: CheckedProject, head: CheckedProject, *, values: Collection[str] | None = None,
    now: int | None = None,
) -> Plan:  # fmt: skip
    """Return the effects of turning one project into another. Pure; O(differences) and the routes.

    Args:
        base: the current project, without mistakes.
        head: the proposed project, without mistakes.
        values: names of the env variables that have a value; None if they are unknown.
        now: the time in milliseconds since 1970, for the next runs of tasks.
    """
    pairs = Pairs(base, head)
    resources, access, tables = find_resources(pairs), find_access(pairs), find_tables(pairs)
    work = find_work(pairs, now)
    rules = read_rules(base)
    return Plan(
        rules=rules,
        verdict=judge(rules, resources, access, tables, work),
        breaks=find_breaks(pairs),
        access=access,
        tables=tables,
        work=work,
        looked=False,
        needs=find_needs(pairs, values),
        routes=find_routes(pairs),
        resources=resources,
    )


def digest(plan: Plan, files: Collection[tuple[str, str]]) -> str:
    """Return the name of a plan: a review of it binds a merge to it.

    Merges by others change it only if they change the effects of this plan. So it ignores numbers
    of rows and jobs, which change while a plan is read, places in files, the project's size, and
    variables with values; it includes their consequences for the plan.

    Args:
        plan: the reviewed plan.
        files: the path and the new blob of each changed file; the blob of a removed file is
            empty.
    """
    said = msgspec.to_builtins(plan)
    for change in said["tables"]:
        del change["rows"], change["keys"]
    said["work"] = [
        effect for effect in said["work"] if effect["code"] != REFUSED
    ]  # a grant ends it
    for change in said["work"]:
        del change["begun"], change["waiting"], change["ticks"], change["table"]
    for table in (*said["tables"], *said["breaks"], *said["access"], *said["work"]):
        table.pop("line", None)
    said["verdict"].pop("refused")  # has numbers of rows; `tables` has the obstacles
    del said["rules"]["size"], said["needs"], said["looked"]
    text = msgspec.json.encode([sorted(files), said], order="deterministic")
    return hashlib.sha256(text).hexdigest()
