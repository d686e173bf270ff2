"""Who may subscribe to a topic and publish on it, and what others see of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from bbops.base.diagnostics import Diagnostic, suggest
from bbops.compiler.check._checked import CheckedProject
from bbops.compiler.check._outside import Outside
from bbops.compiler.check._surroundings import left_by_chain
from bbops.compiler.check.triggers import calls_of, decides_alone
from bbops.language.expressions.known import FlowFacts
from bbops.language.expressions.nodes import names_in
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.types import TEXT, Type, map_of
from bbops.language.expressions.values import Bare, Expression
from bbops.language.project import Resource
from bbops.language.resources.realtime import Realtime
from bbops.language.sql.types import SqlColumn, SqlTable
from bbops.language.steps._ruled import RuleCaller, check_rules
from bbops.runtime.values.filters import FUNCTIONS

_ELSEWHERE = dict.fromkeys(
    ("input", "query", "headers", "request", "event", "trigger"),
    "only 'params' and 'vars' are available; middleware can add to 'vars'",
)


def check(project: CheckedProject) -> Iterator[Diagnostic]:
    """Yield mistakes in expressions, names that stand twice in a topic, and topics that do."""
    seen: dict[str, Resource[Realtime]] = {}
    for realtime in project.realtime.values():
        names = realtime.model.parameters
        doubled = next((name for name in names if names.count(name) > 1), None)
        if doubled:
            message = f"':{doubled}' appears twice in {realtime.model.topic}"
            yield Diagnostic(realtime.place("topic"), "duplicate-parameter", message)
        first = seen.setdefault(re.sub(r":[^/]+", ":", realtime.model.topic), realtime)
        if first is not realtime:
            message = f"the topic '{realtime.model.topic}' is defined twice"
            hint = f"the other definition is {first.file}"
            yield Diagnostic(realtime.place("topic"), "duplicate-topic", message, hint)
        yield from _expressions(project, realtime)
        yield from _rows(project, realtime)


def find_subscriber(project: CheckedProject, realtime: Resource[Realtime]) -> Outside:
    """Return what expressions of a topic may read: of who subscribes, or publishes."""
    model = realtime.model
    roots = {"params": map_of(dict.fromkeys(model.parameters, TEXT), "params")}
    missing = dict(_ELSEWHERE)
    if model.authentication == "JWT":
        roots["auth"] = project.caller_types["auth"]
    else:
        missing["vars.auth"] = f"this topic has authentication: {model.authentication}"

    def left_by(middleware: str) -> FlowFacts | None:
        return project.flows.of(middleware).left

    known = left_by_chain(project, tuple(model.middleware), left_by)
    return Outside(realtime, roots, known=known, missing=missing)


def find_row(project: CheckedProject, realtime: Resource[Realtime]) -> Outside | None:
    """Return what `where` of a topic's rows may read; None where its table is unknown."""
    rows = realtime.model.rows
    table = project.stored_tables.get(rows.table) if rows else None
    if table is None:
        return None
    outside = find_subscriber(project, realtime)
    return replace(outside, columns=table.column_types, table=table.name, found=[])


def find_callers(project: CheckedProject, realtime: Resource[Realtime]) -> dict[str, Type]:
    """Return who subscribes, as the rules of tables read it: null where there may be nobody."""
    auth, key = project.caller_types["auth"], project.caller_types["apiKey"]
    has_user = realtime.model.authentication == "JWT"
    return {"auth": auth if has_user else auth.or_null(), "apiKey": key.or_null()}


def _rows(project: CheckedProject, realtime: Resource[Realtime]) -> Iterator[Diagnostic]:
    """Check which rows a topic shows, and which columns of them."""
    rows, outside = realtime.model.rows, find_row(project, realtime)
    if rows is None or outside is None:
        return
    columns = project.stored_tables[rows.table].columns
    for number, name in enumerate(rows.select):
        at = realtime.place("rows", "select", number)
        if name not in columns:
            hint = suggest(name, columns) or f"it has {', '.join(columns)}"
            message = f"table '{rows.table}' has no column '{name}'"
            yield Diagnostic(at, "rows-columns", message, hint)
        elif columns[name].private:
            message, hint = f"column '{name}' is private", "leave it out of 'select'"
            yield Diagnostic(at, "rows-columns", message, hint)
    if rows.where is not None:
        outside.condition(rows.where, "rows", "where")
        if all(name in project.functions for name in realtime.model.middleware):
            yield from outside.found
        yield from _decides(realtime, rows.where, columns)
    yield from _keep_rules(project, realtime, project.sql_tables[rows.table])


def _keep_rules(
    project: CheckedProject, realtime: Resource[Realtime], table: SqlTable
) -> Iterator[Diagnostic]:  # fmt: skip
    """Refuse rules that cannot be judged by a row alone, for each subscriber."""
    if not table.seen:
        return
    at = realtime.place("rows", "table")
    shown = {name for name, one in table.stored.columns.items() if not one.private}
    others = {*table.columns, *table.relations, *table.children, "row"} - shown
    wrong = set[str]()
    for node in (one.node for one in table.seen):
        called = (name for name in calls_of(node) if name in FUNCTIONS)
        wrong |= {f"{name}()" for name in called if FUNCTIONS[name].needs_host}
        wrong |= {*names_in(node)} & others
    if wrong:
        what = ", ".join(f"'{name}'" for name in sorted(wrong))
        yield Diagnostic(
            at, "past-rules", f"a topic cannot keep to the rule of '{table.name}', which reads"
            f" {what}", "a topic judges a rule by vars.auth and the stored columns of the row that"
            " are not private; or announce changes with the step 'publish'",
        )  # fmt: skip
    asking = RuleCaller(find_callers(project, realtime), "")
    if check_rules(Scope({}, _unheard), table, asking, ["read"]).needs_user:
        yield Diagnostic(
            at, "rule-needs-user", f"the rule of '{table.name}' needs a user, and topic"
            f" '{realtime.name}' may have none", "write 'authentication: JWT' here, or"
            " 'vars.auth?.userId' in the rule",
        )  # fmt: skip


def _unheard(*_: object) -> None:
    """The rule is checked in its own file."""


def _decides(
    realtime: Resource[Realtime], where: Bare, columns: Mapping[str, SqlColumn]
) -> Iterator[Diagnostic]:  # fmt: skip
    """Refuse what would keep private values in the log, or decide otherwise when asked again."""
    at = realtime.place("rows", "where")
    for name in sorted({*names_in(where.node)}) if isinstance(where, Expression) else ():
        if name in columns and columns[name].private:
            message = f"'where' cannot read the private column '{name}'"
            hint = "changes are kept in a log; keep what decides in a column that is not private"
            yield Diagnostic(at, "rows-columns", message, hint)
    yield from decides_alone(realtime, where, "rows", "where")


def _expressions(project: CheckedProject, realtime: Resource[Realtime]) -> Iterator[Diagnostic]:
    model, outside = realtime.model, find_subscriber(project, realtime)
    outside.condition(model.subscribe, "subscribe")
    outside.condition(model.publish, "publish")
    hidden = [*_shown(outside, model)]
    if all(name in project.functions for name in model.middleware):
        yield from outside.found
        yield from hidden


def _shown(outside: Outside, model: Realtime) -> Iterator[Diagnostic]:
    """Check what others see of a subscriber; yield what they may not."""
    for name, value in (model.presence.show if model.presence else {}).items():
        path = ("presence", "show", name)
        if outside.value(value, *path).hides:
            yield Diagnostic(
                outside.resource.place(*path), "private-data",
                "'presence' would expose a private column or a secret",
                "show what others may know of a subscriber",
            )  # fmt: skip
