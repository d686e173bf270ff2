"""The rules of tables: complete, of what rules may read, and obeyed by all that names a table."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from bbops.base.diagnostics import Diagnostic, Place, suggest
from bbops.base.model import Model
from bbops.compiler.check._checked import CheckedProject
from bbops.compiler.check._flows import WARNINGS
from bbops.language.expressions import nodes as s
from bbops.language.expressions.check import check_condition, check_value
from bbops.language.expressions.inside import nodes
from bbops.language.expressions.scope import SIGNED_IN, Scope
from bbops.language.expressions.types import Type
from bbops.language.expressions.values import Bare, Expression
from bbops.language.project import Resource
from bbops.language.resources.table import OPERATIONS, Table
from bbops.language.sql.parts import NotInSql
from bbops.language.sql.query import Query, check_nesting, flatten
from bbops.language.sql.types import Rules, SqlTable
from bbops.language.steps._base import every_step
from bbops.language.steps._ruled import cached, rule_scope
from bbops.language.steps.cache import Cache
from bbops.runtime.values.filters import FUNCTIONS
from bbops.source.yaml.document import Mark

_REQUEST: Final = frozenset({
    "input", "query", "params", "headers", "request", "env", "event", "trigger", "error",
})  # fmt: skip
_MAY: Final = "a rule reads the row, related rows, vars.auth, vars.apiKey and now()"
_OWN: Final = "'scope' says which rows count, by columns of the table itself"


def check(project: CheckedProject) -> Iterator[Diagnostic]:
    """Yield mistakes in rules, doubts about them, and what does not keep to them."""
    ruled = {name: one for name, one in project.tables.items() if one.model.has_rules}
    for name, table in ruled.items():
        of = project.sql_tables[name]
        found = [*_incomplete(table), *_soft_delete(table), *_conditions(project, table, of)]
        yield from found or _doubts(table, of)
    if ruled:
        yield from _past_rules(project)
        yield from _cached(project)


def _incomplete(table: Resource[Table]) -> Iterator[Diagnostic]:
    access = table.model.access
    for name in OPERATIONS if access is not None else ():
        if access is not None and access.of(name) is None:
            yield Diagnostic(
                table.place("access", key=True), "access-incomplete",
                f"'access' does not say who may {name} rows",
                f"add '{name}: …'; 'true' is everybody, 'false' nobody",
            )  # fmt: skip


def _soft_delete(table: Resource[Table]) -> Iterator[Diagnostic]:
    name = table.model.soft_delete
    column = table.model.columns.get(name or "")
    if name is not None and (column is None or column.type != "datetime" or not column.nullable):
        what = "is no column" if column is None else "is not a nullable datetime"
        yield Diagnostic(
            table.place("softDelete"), "soft-delete", f"'{name}' {what}",
            suggest(name, table.model.columns) if column is None
            else f"'{name}: {{ type: datetime, nullable: true }}'",
        )  # fmt: skip


# ---- the conditions
def _conditions(
    project: CheckedProject, table: Resource[Table], of: SqlTable
) -> Iterator[Diagnostic]:
    model, rules = table.model, of.rules
    if rules is None or (model.soft_delete or "id") not in {*model.columns, "id"}:
        return
    if model.scope is not None:
        yield from _condition(project, table, rules, model.scope, "scope")
    for name in ("read", "write", "insert", "update", "delete") if model.access else ():
        condition = getattr(model.access, name)
        if condition is not None:
            yield from _condition(project, table, rules, condition, "access", name)


def _condition(
    project: CheckedProject, table: Resource[Table], rules: Rules, bare: Bare, *path: str
) -> Iterator[Diagnostic]:
    """Check one condition; `path` is where it stands."""
    within, found = rules.within[table.name], list[Diagnostic]()

    def report(mark: Mark | None, offset: int, code: str, message: str, hint: str) -> None:
        place = table.at(mark, offset) if mark else table.place(*path)
        severity = "warning" if code in WARNINGS else "error"
        found.append(Diagnostic(place, code, message, hint, severity))  # type: ignore[arg-type]

    if not isinstance(bare, Expression):
        check_value(bare, Scope({}, report))
        yield from found
        return
    place = table.at(bare.mark) if bare.mark else table.place(*path)
    wrong = [*_foreign(bare.node, within, place, is_scope=path[0] == "scope")]
    if wrong:
        yield wrong[0]
        return
    scope = rule_scope(Scope({}, report), within, project.caller_types, [])
    scope.report = report
    check_condition(bare, scope)
    if not found:
        nobody = {name: of.or_null() for name, of in project.caller_types.items()}
        _match_null(table, bare, within, nobody, found)
    if not found:
        query = Query(within, scope, lambda _: ast.Constant(None), bare=True)
        try:
            check_nesting(bare.node, query.condition(bare.node), lists=1)
        except NotInSql as problem:
            report(bare.mark, problem.offset, problem.code, problem.message, problem.hint)
    yield from found


def _match_null(
    table: Resource[Table], bare: Expression, within: SqlTable, nobody: Mapping[str, Type],
    found: list[Diagnostic],
) -> None:  # fmt: skip
    """Report what would give rows without an owner to whoever is not signed in."""

    def report(mark: Mark | None, offset: int, code: str, message: str, hint: str) -> None:
        if code == "null-match":
            place = table.at(mark, offset) if mark else table.place("access")
            found.append(Diagnostic(place, code, message, hint))

    scope = rule_scope(Scope({}, report), within, nobody, [])
    scope.report = report
    check_condition(bare, scope)


def _foreign(
    node: s.Node, table: SqlTable, place: Place, *, is_scope: bool
) -> Iterator[Diagnostic]:
    """Yield what a rule may not read."""
    own = {*table.relations, *table.children} - {*table.columns}
    for one in nodes(node):
        what = ""
        if isinstance(one, s.Name):
            is_foreign = one.name in _REQUEST - {*table.columns}
            is_foreign |= is_scope and one.name in {*own, "vars"}
            what = one.name if is_foreign else ""
        elif isinstance(one, s.Member) and isinstance(one.of, s.Name) and one.of.name == "vars":
            what = "" if one.name in SIGNED_IN else f"vars.{one.name}"
        elif (
            isinstance(one, s.FunctionCall)
            and one.name in FUNCTIONS
            and FUNCTIONS[one.name].needs_host
        ):
            what = "" if one.name == "now" and not is_scope else f"{one.name}()"
        if what:
            place = replace(place, column=place.column + one.start) if place.column else place
            yield Diagnostic(
                place, "rule-column", f"a rule cannot read '{what}'", _OWN if is_scope else _MAY
            )


# ---- doubts
def _doubts(table: Resource[Table], of: SqlTable) -> Iterator[Diagnostic]:
    rules, model = of.rules, table.model
    if rules is None or not rules.hides:
        return
    owners = {name for one in rules.of("read") for name in _owners(one.node, of)}
    first = {
        *model.key[:1],
        *(name for name, one in model.columns.items() if one.unique or one.references),
        *(index.columns[0] for index in model.indexes.values() if index.where is None),
    }
    for name in sorted(owners - first):
        yield Diagnostic(
            table.place("columns", name, key=True), "rule-unindexed",
            f"the rule of '{table.name}' compares '{name}', which no index begins with",
            f"add 'indexes: {{ {table.name}_by_{name}: {{ columns: [{name}] }} }}'",
            severity="warning",
        )  # fmt: skip
    for name, column in model.columns.items():
        if column.unique and name not in {*owners, *model.key}:
            yield Diagnostic(
                table.place("columns", name, "unique"), "rule-reveals",
                f"a value of '{name}' that is taken tells that a hidden row exists",
                _cure(model, name), severity="warning",
            )  # fmt: skip


def _cure(table: Table, name: str) -> str:
    """Return how a column is unique without telling of rows that are not there."""
    if table.access is None and table.scope is None and table.soft_delete is not None:
        where = f"{table.soft_delete} == null"
        return f"'indexes: {{ one_{name}: {{ columns: [{name}], unique: true, where: {where} }} }}'"
    return "make it unique together with the owner, in 'indexes'"


def _owners(node: s.Node, table: SqlTable) -> Iterator[str]:
    """Yield the columns that a rule compares with who asks."""
    for op in ("or", "and"):
        parts = flatten(node, op)
        if len(parts) > 1:
            for part in parts:
                yield from _owners(part, table)
            return
    if isinstance(node, s.Compare) and node.op == "==":
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(one, s.Name) and one.name in table.columns and _is_who(other):
                yield one.name


def _is_who(node: s.Node) -> bool:
    while isinstance(node, s.Member):
        node = node.of
    return isinstance(node, s.Name) and node.name == "vars"


# ---- what names tables outside of steps
def _past_rules(project: CheckedProject) -> Iterator[Diagnostic]:
    for kind, named in project.resources.items():
        if kind not in {"tables", "functions", "tests", "endpoints", "realtime"}:
            for resource in named.values():
                yield from _models(project, resource, resource.model, ())
    auth = project.settings.model.auth
    users = project.sql_tables.get(auth.users or "") if auth else None
    if auth is not None and auth.providers and users and users.rules and users.rules.scope:
        yield _past(project.settings.place("auth", "users"), users.name)


def _cached(project: CheckedProject) -> Iterator[Diagnostic]:
    """Yield calls in a cache of what reads a table of which not everybody sees the same."""
    for function in project.functions.values():
        caches = [one for one in function.model.every_step if isinstance(one, Cache)]
        for step in every_step(inner for one in caches for inner in one.cache.steps or ()):
            called = [name for name in step.calls() if name in project.functions]
            for name in _reached(project.callees, called):
                for kind, table in sorted(project.flows.of(name).reads):
                    of = project.sql_tables.get(table) if kind == "table" else None
                    if of is not None and of.rules is not None and of.rules.asks_who("read"):
                        yield Diagnostic(function.at(step.mark), "past-rules", *cached(table))


def _reached(callees: Mapping[str, Sequence[str]], names: Sequence[str]) -> Sequence[str]:
    found, todo = dict.fromkeys(names), [*names]
    while todo:
        more = [one for one in callees.get(todo.pop(), ()) if one not in found]
        found |= dict.fromkeys(more)
        todo += more
    return [*found]


def _models(
    project: CheckedProject, resource: Resource[Any], model: Model, path: tuple[str, ...]
) -> Iterator[Diagnostic]:
    """Yield each part of a file that names a table with rules, and does not keep to them."""
    for name, field in type(model).model_fields.items():
        value, key = getattr(model, name), field.alias or name
        if isinstance(value, Model):
            yield from _models(project, resource, value, (*path, key))
        elif name == "table" and not model.sees_all_rows and isinstance(value, str):
            table = project.sql_tables.get(value)
            if table is not None and table.hides:
                yield _past(resource.place(*path, key), value)


def _past(place: Place, table: str) -> Diagnostic:
    return Diagnostic(
        place, "past-rules", f"this would look past the rules of table '{table}'",
        "use a table without rules, or read it in a function",
    )  # fmt: skip
