"""Find the requirements of a change before it goes live, by the rules of the project as it is NOW.

The new rules never count: a proposal must not loosen the rule that judges it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from bbops.base.render import counted_rows
from bbops.language.project import Project
from bbops.review.plan.changes import Pairs, ResourceChange
from bbops.review.plan.codes import Finding
from bbops.review.plan.tables import Risk, TableChange
from bbops.review.plan.work import REFUSED, STRANDED, WorkChange


@dataclass(frozen=True, slots=True)
class Rules:
    """The `review:` of a project, and the number of its resources.

    Attributes:
        main: `direct`, or `proposals` if pushes to main are refused.
        approvals: the approvals that every change needs.
        destructive: the approvals of a change that loses data or loosens access.
        most: the greatest share of resources that may be removed, in percent; null for any.
        size: the number of resources.
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
    """The requirements of a change.

    Attributes:
        refused: why it cannot go live as it is; empty if it can.
        approvals: the number of people who must agree.
        reasons: why it needs more than every change.
    """

    refused: tuple[str, ...]
    approvals: int
    reasons: tuple[str, ...]


def read_rules(base: Project) -> Rules:
    """Return the rules that judge changes of a project."""
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
    """Return the requirements of a change."""
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
    if stranded := [
        f"'{change.work}'" for change in work if change.code == STRANDED and not change.is_moot
    ]:
        yield f"jobs that have begun would be held: {_few(stranded)}"
    if access:
        yield f"access is loosened: {_few(sorted({finding.code for finding in access}))}"


def _refusals(
    rules: Rules,
    resources: Collection[ResourceChange],
    tables: Collection[TableChange],
    work: Collection[WorkChange],
) -> Iterator[str]:
    if refused := find_removal(rules, resources):
        yield refused
    for table in tables:
        if table.risk == "impossible":
            yield f"{table.kind} '{table.name}' cannot be made: {_rows(table)}"
    for change in work:
        if change.code == REFUSED:
            yield f"{change.message}; {change.cure}"


def _rows(change: TableChange) -> str:
    return counted_rows(change.rows, change.why) if change.rows is not None else change.why


def find_removal(rules: Rules, resources: Collection[ResourceChange]) -> str:
    """Return why too much of a project would be removed at once; empty if it may."""
    removed = sum(resource.verb == "removed" for resource in resources)
    if rules.most is None or removed * 100 <= rules.most * rules.size:
        return ""
    share = removed * 100 / rules.size
    return (
        f"{removed} of {rules.size} resources would be removed ({share:.0f} %),"
        f" at most {rules.most} % may be: review.maxRemovedPercent"
    )


def _names(tables: Collection[TableChange], risk: Risk) -> list[str]:
    return list(dict.fromkeys(f"'{table.name}'" for table in tables if table.risk == risk))


def _few(names: list[str]) -> str:
    more = f" and {len(names) - 4} more" if len(names) > 5 else ""
    return ", ".join(names[: 4 if more else 5]) + more


# ---- Find the requirements of a change for the server's operators: values, addons, features


@dataclass(frozen=True, slots=True)
class EnvNeed:
    """An env variable that stops the publication while it has no value."""

    name: str
    secret: bool
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Needs:
    """The requirements before a change goes live.

    Attributes:
        env: variables without a value; if the values are unknown, the newly declared ones.
        known: whether it is known which variables have values.
        enabled: addons that are switched on.
        disabled: addons that are switched off.
        features: workspace features that the project did not use before.
    """

    env: tuple[EnvNeed, ...]
    known: bool
    enabled: tuple[str, ...]
    disabled: tuple[str, ...]
    features: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Whether there are no requirements."""
        return not (self.env or self.enabled or self.disabled or self.features)


def find_needs(pairs: Pairs, values: Collection[str] | None) -> Needs:
    """Return the requirements that the new project adds.

    Args:
        values: names of the env variables that have a value; None if they are unknown.
    """
    was, now = _enabled(pairs.base), _enabled(pairs.head)
    features = ("restChannels",) if pairs.head.channels and not pairs.base.channels else ()
    return Needs(
        tuple(_missing(pairs, values)), values is not None,
        tuple(sorted(now - was)), tuple(sorted(was - now)), features,
    )  # fmt: skip


def _enabled(project: Project) -> set[str]:
    return {name for name, addon in project.addons.items() if addon.model.enabled}


def _missing(pairs: Pairs, values: Collection[str] | None) -> Iterator[EnvNeed]:
    head = pairs.head.settings
    for name, variable in sorted(head.model.env.items()):
        old = pairs.base.settings.model.env.get(name)
        is_there = old is not None and not old.may_be_missing if values is None else name in values
        if not variable.may_be_missing and not is_there:
            place = head.place("env", name, key=True)
            yield EnvNeed(name, variable.secret, place.file, place.line)
