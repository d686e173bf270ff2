"""Add to a plan what only the running server knows: rows touched, and values that are set."""

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
    """One of the `changes` of `bbops db plan --json`."""

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
class Answer:
    """What `bbops db plan --json` prints for the new project.

    Attributes:
        hash: names the state of the live tables and what would become of it; null for nothing.
        env: names of the env variables that have a value, where somebody said so.
        work: the jobs that there are, where somebody counted them.
        triggers: tables on which no SQL trigger can be created, with the statement that allows it.
    """

    hash: str | None
    waits: bool
    changes: tuple[LiveChange, ...]
    env: tuple[str, ...] | None = None
    work: JobCounts | None = None
    triggers: Mapping[str, str] = field(default_factory=dict)


def read_answer(data: bytes | Mapping[str, Any]) -> Answer:
    """Return an answer of JSON, or of its values.

    Raises:
        BbopsError: it is something else.
    """
    try:
        if isinstance(data, bytes):
            return msgspec.json.decode(data, type=Answer)
        return msgspec.convert(data, Answer)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        reason = str(error)[:1].lower() + str(error)[1:]
        raise BbopsError(
            f"this is not what 'bbops db plan --json' prints: {reason}",
            hint="bbops db plan --json | bbops plan --rows -",
        ) from None


def complete(plan: Plan, answer: Answer) -> Plan:
    """Return a plan with what the live database says: rows touched, and what that means.

    Args:
        plan: made without it.
        answer: counts alone: the live tables may be those of another commit than the old project.
    """
    tables = sort_changes(_told(answer.changes, plan.tables))
    work = plan.work if answer.work is None else count_jobs(plan.work, answer.work)
    work = refuse_triggers(work, answer.triggers)
    verdict = judge(plan.rules, plan.resources, plan.access, tables, work)
    needs = plan.needs if answer.env is None else _without(plan.needs, answer.env)
    return replace(plan, tables=tables, work=work, looked=True, verdict=verdict, needs=needs)


def _told(changes: Iterable[LiveChange], known: Iterable[TableChange]) -> Iterable[TableChange]:
    places = {(one.kind, one.table, one.what): (one.file, one.line) for one in known}
    for one in changes:
        key = one.kind, one.table, one.what
        file, line = places.get(key, (f"tables/{one.table}.yaml", 1))
        yield TableChange(
            *key, one.risk, one.why, one.rows, one.keys, one.when, one.cure, file, line
        )


def _without(needs: Needs, values: Iterable[str]) -> Needs:
    there = set(values)
    missing = tuple(one for one in needs.env if one.name not in there)
    return replace(needs, env=missing, known=True)
