"""Turn two projects into a Plan: all that a change will do, as one frozen value."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass

import msgspec

from bbops.compiler.check import CheckedProject
from bbops.review.plan.access import find_access
from bbops.review.plan.breaking import find_breaks
from bbops.review.plan.changes import ResourceChange, RouteChange, find_resources, find_routes
from bbops.review.plan.finding import Finding
from bbops.review.plan.needs import Needs, find_needs
from bbops.review.plan.pairs import Pairs
from bbops.review.plan.review import Rules, Verdict, judge, read_rules
from bbops.review.plan.tables import TableChange, find_tables
from bbops.review.plan.work import REFUSED, WorkChange, find_work


@dataclass(frozen=True, slots=True)
class Plan:
    """What a change will do.

    Attributes:
        rules: by which it is judged: those of the project as it is now.
        breaks: what clients of today can no longer rely on.
        access: where somebody may more than today.
        work: what becomes of jobs.
        looked: whether the live database has said which rows are touched.
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
        """Whether nothing changes that the project says, whatever its files look like."""
        return not (self.resources or self.routes or self.breaks or self.access or self.tables)


def plan(
    base: CheckedProject, head: CheckedProject, *, values: Collection[str] | None = None,
    now: int | None = None,
) -> Plan:  # fmt: skip
    """Return what turning one project into another will do. Pure; O(what differs) and the routes.

    Args:
        base: as it is now, without mistakes.
        head: as it would be, without mistakes.
        values: names of the env variables that have a value; None where nobody knows.
        now: the time in milliseconds since 1970, to say when tasks run next.
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

    What others merge meanwhile changes it only where it changes what this plan does. So numbers of
    rows and jobs do not count, which change while a plan is read, nor where a file says something,
    how large the project is, and what the server has values for; what that means for the plan does.

    Args:
        plan: as it was read.
        files: the path and the new blob of each file that differs; the blob is empty of one that
            goes.
    """
    said = msgspec.to_builtins(plan)
    for change in said["tables"]:
        del change["rows"], change["keys"]
    said["work"] = [one for one in said["work"] if one["code"] != REFUSED]  # a grant ends it
    for change in said["work"]:
        del change["begun"], change["waiting"], change["ticks"], change["table"]
    for one in (*said["tables"], *said["breaks"], *said["access"], *said["work"]):
        one.pop("line", None)
    said["verdict"].pop("refused")  # says numbers of rows; `tables` says what stands in the way
    del said["rules"]["size"], said["needs"], said["looked"]
    text = msgspec.json.encode([sorted(files), said], order="deterministic")
    return hashlib.sha256(text).hexdigest()
