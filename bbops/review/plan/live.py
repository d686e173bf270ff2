"""The part of a plan that needs the running server: its question and its answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import msgspec

from bbops.base.errors import BbopsError
from bbops.language.expressions.values import Broken, Expression
from bbops.language.project import Project
from bbops.language.resources.table import RULES, Table
from bbops.review.plan.plan import Plan
from bbops.review.plan.review import Needs, judge
from bbops.review.plan.tables import TableChange, sort_changes
from bbops.review.plan.work import JobCounts, count_jobs, refuse_triggers
from bbops.source.tree import MemoryTree


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


# ---- The data that a running server needs to complete a project's plan: its tables, and names
# It contains no function, no route, no value and no row of `seed`.

_UNSEEN: Final[dict[str, Any]] = {
    "seed": True, "description": True, "checks": True, "columns": {"__all__": {"description"}},
} | dict.fromkeys(RULES, True)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Question:
    """The question to the server.

    Attributes:
        tables: the declared tables, by name.
        env: names of the variables that must have a value.
    """

    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    env: tuple[str, ...] = ()


def read_question(project: Project) -> Question:
    """Return the question about a project without mistakes."""
    tables = {name: _write(table.model) for name, table in project.tables.items()}
    env = project.settings.model.env
    return Question(
        tables, tuple(name for name, variable in env.items() if not variable.may_be_missing)
    )


def _write(table: Table) -> dict[str, Any]:
    said = table.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude=_UNSEEN)
    if checks := {name: _text_of(check) for name, check in table.checks.items()}:
        said["checks"] = checks
    return said


def _text_of(check: Expression | Broken) -> str:
    return check.text if isinstance(check, Expression) else ""


def make_tree(question: Question) -> MemoryTree:
    """Return a project with only these tables, to be checked like any other."""
    files = {f"tables/{name}.yaml": json.dumps(table) for name, table in question.tables.items()}
    return MemoryTree({"project.yaml": "bbops: 1\nname: asked\n", **files})
