"""Complete a plan from the running server: touched rows, and variables with values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import msgspec

from bbops.base.errors import BbopsError
from bbops.review.plan.needs import Needs
from bbops.review.plan.plan import Plan
from bbops.review.plan.review import judge
from bbops.review.plan.tables import TableChange, sort_changes
from bbops.review.plan.work import JobCounts, count_jobs, refuse_triggers


@dataclass(frozen=True, slots=True)
class LiveChange:
    """An entry of `changes` in `bbops db plan --json`."""

    kind: str
    table: str
    what: str
    risk: Literal["safe", "depends", "destructive", "impossible"]
    why: str
    rows: int
    keys: str
    when: str
    cure: str


@dataclass(frozen=True, slots=True)
class LiveAnswer:
    """The output of `bbops db plan --json` for the new project.

    Attributes:
        hash: identifies the state of the live tables and the plan; null for no changes.
        env: names of the env variables that have a value, if they are known.
        work: the numbers of jobs, if they were counted.
        triggers: tables on which no SQL trigger can be created, with the statement that allows it.
    """

    hash: str | None
    waits: bool
    changes: tuple[LiveChange, ...]
    env: tuple[str, ...] | None = None
    work: JobCounts | None = None
    triggers: Mapping[str, str] = field(default_factory=dict)


def read_answer(data: bytes | Mapping[str, Any]) -> LiveAnswer:
    """Return an answer from JSON, or from its values.

    Raises:
        BbopsError: it has another form.
    """
    try:
        if isinstance(data, bytes):
            return msgspec.json.decode(data, type=LiveAnswer)
        return msgspec.convert(data, LiveAnswer)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        reason = str(error)[:1].lower() + str(error)[1:]
        raise BbopsError(
            f"this is not what 'bbops db plan --json' prints: {reason}",
            hint="bbops db plan --json | bbops plan --rows -",
        ) from None


def complete(plan: Plan, answer: LiveAnswer) -> Plan:
    """Return a plan with the data of the live database: touched rows, and their consequences.

    Args:
        plan: a plan without live data.
        answer: only its counts: the live tables may belong to another commit than the old project.
    """
    tables = sort_changes(_told(answer.changes, plan.tables))
    work = plan.work if answer.work is None else count_jobs(plan.work, answer.work)
    work = refuse_triggers(work, answer.triggers)
    verdict = judge(plan.rules, plan.resources, plan.access, tables, work)
    needs = plan.needs if answer.env is None else _without(plan.needs, answer.env)
    return replace(plan, tables=tables, work=work, looked=True, verdict=verdict, needs=needs)


def _told(changes: Iterable[LiveChange], known: Iterable[TableChange]) -> Iterable[TableChange]:
    places = {
        (change.kind, change.table, change.what): (change.file, change.line) for change in known
    }
    for change in changes:
        key = change.kind, change.table, change.what
        file, line = places.get(key, (f"tables/{change.table}.yaml", 1))
        yield TableChange(
            *key,
            change.risk,
            change.why,
            change.rows,
            change.keys,
            change.when,
            change.cure,
            file,
            line,
        )


def _without(needs: Needs, values: Iterable[str]) -> Needs:
    there = set(values)
    missing = tuple(need for need in needs.env if need.name not in there)
    return replace(needs, env=missing, known=True)
