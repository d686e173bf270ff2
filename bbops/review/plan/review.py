"""Say what a change needs before it goes live, by the rules of the project as it is NOW.

Never by those it would have: a proposal must not loosen the rule that it is judged by.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from bbops.base.render import counted_rows
from bbops.language.project import Project
from bbops.review.plan.changes import ResourceChange
from bbops.review.plan.finding import Finding
from bbops.review.plan.tables import Risk, TableChange
from bbops.review.plan.work import REFUSED, STRANDED, WorkChange


@dataclass(frozen=True, slots=True)
class Rules:
    """The `review:` of a project, and how many resources it has.

    Attributes:
        main: `direct`, or `proposals` where nobody may push to main.
        approvals: that every change needs.
        destructive: those that one needs which loses data or loosens access.
        most: the greatest share of resources that may be removed, in percent; null for any.
        size: how many resources there are.
        agents: `propose`, or `merge` where agents may merge, too.
    """

    main: str
    approvals: int
    destructive: int
    most: int | None
    size: int
    agents: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What it takes.

    Attributes:
        refused: why it cannot go live as it is; empty when it can.
        approvals: how many people must agree.
        reasons: why more than every change needs.
    """

    refused: tuple[str, ...]
    approvals: int
    reasons: tuple[str, ...]


def read_rules(base: Project) -> Rules:
    """Return the rules by which changes of a project are judged."""
    review = base.settings.model.review
    return Rules(
        review.main, review.approvals, review.destructive.approvals, review.max_removed_percent,
        base.size, review.agents,
    )  # fmt: skip


def judge(
    rules: Rules,
    resources: Collection[ResourceChange],
    access: Collection[Finding],
    tables: Collection[TableChange],
    work: Collection[WorkChange] = (),
) -> Verdict:
    """Return what a change takes."""
    reasons = tuple(_reasons(access, tables, work))
    approvals = max(rules.approvals, rules.destructive if reasons else 0)
    return Verdict(tuple(_refusals(rules, resources, tables, work)), approvals, reasons)


def _reasons(
    access: Collection[Finding], tables: Collection[TableChange], work: Collection[WorkChange]
) -> Iterator[str]:  # fmt: skip
    if losing := _names(tables, "destructive"):
        yield f"values would be lost: {_few(losing)}"
    if unknown := _names(tables, "depends"):
        yield f"rows may block the migration, or lose values: {_few(unknown)}"
    if stranded := [f"'{one.work}'" for one in work if one.code == STRANDED and not one.is_moot]:
        yield f"jobs that have begun would be held: {_few(stranded)}"
    if access:
        yield f"access is loosened: {_few(sorted({one.code for one in access}))}"


def _refusals(
    rules: Rules,
    resources: Collection[ResourceChange],
    tables: Collection[TableChange],
    work: Collection[WorkChange],
) -> Iterator[str]:
    if refused := find_removal(rules, resources):
        yield refused
    for one in tables:
        if one.risk == "impossible":
            yield f"{one.kind} '{one.name}' cannot be made: {_rows(one)}"
    for change in work:
        if change.code == REFUSED:
            yield f"{change.message}; {change.cure}"


def _rows(change: TableChange) -> str:
    return counted_rows(change.rows, change.why) if change.rows is not None else change.why


def find_removal(rules: Rules, resources: Collection[ResourceChange]) -> str:
    """Return why too much of a project would go at once; empty where it may."""
    removed = sum(one.verb == "removed" for one in resources)
    if rules.most is None or removed * 100 <= rules.most * rules.size:
        return ""
    share = removed * 100 / rules.size
    return (
        f"{removed} of {rules.size} resources would be removed ({share:.0f} %),"
        f" at most {rules.most} % may be: review.maxRemovedPercent"
    )


def _names(tables: Collection[TableChange], risk: Risk) -> list[str]:
    return list(dict.fromkeys(f"'{one.name}'" for one in tables if one.risk == risk))


def _few(names: list[str]) -> str:
    more = f" and {len(names) - 4} more" if len(names) > 5 else ""
    return ", ".join(names[: 4 if more else 5]) + more
