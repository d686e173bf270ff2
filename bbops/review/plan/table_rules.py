"""Effects of changed table rules and matches: rows that appear or disappear."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from bbops.base.diagnostics import Place
from bbops.language.expressions import nodes as s
from bbops.language.expressions.nodes import names_in
from bbops.language.expressions.values import Expression
from bbops.language.project import Project, Resource, Route
from bbops.language.resources._crud import Crud
from bbops.language.resources.table import OPERATIONS, Table
from bbops.language.sql.query import flatten
from bbops.review.plan.changes import Pairs, title
from bbops.review.plan.codes import Finding, finding

Condition = Expression | None
"""A condition on rows; None stands for every row."""
_DOES = {"read": "seen", "insert": "inserted", "update": "updated", "delete": "deleted"}


def find_hidden_rows(pairs: Pairs) -> Iterator[Finding]:
    """Yield the tables of which clients may see or change fewer rows."""
    for base, head in pairs.both("tables"):
        for operation in OPERATIONS:
            old, new = _access(base, operation), _access(head, operation)
            if _is_other(old, new) and _is_tighter(old, new):
                message = f"fewer rows may be {_DOES[operation]}: {_text(new)}"
                yield finding("rows-hidden", f"table {head.name}", message, _place(head, operation))
        for key in ("scope", "softDelete"):
            old, new = _scope(base, key), _scope(head, key)
            if _is_other(old, new) and _is_tighter(old, new):
                message = f"rows no longer count, unless {_text(new)}"
                yield finding("rows-hidden", f"table {head.name}", message, head.place(key))


def find_loosened_tables(pairs: Pairs) -> Iterator[Finding]:
    """Yield the tables with more visible or changeable rows, and the steps that ignore rules."""
    changed = set[str]()
    for base, head in pairs.both("tables"):
        subject = f"table {head.name}"
        for operation in OPERATIONS:
            old, new = _access(base, operation), _access(head, operation)
            if _is_other(old, new) and not _is_tighter(old, new):
                message = f"other rows may be {_DOES[operation]}: {_text(new)}, it was {_text(old)}"
                yield finding("rule-loosened", subject, message, _place(head, operation))
        for key in ("scope", "softDelete"):
            old, new = _scope(base, key), _scope(head, key)
            if not _is_other(old, new):
                continue
            changed.add(head.name)
            if new is None:
                message = f"rows count that did not: it was {_text(old)}"
                yield finding("scope-removed", subject, message, head.place(key))
            elif not _is_tighter(old, new):
                message = f"other rows count: {_text(new)}, it was {_text(old)}"
                yield finding("rule-loosened", subject, message, head.place(key))
    yield from _by_scope(pairs, changed)
    yield from _past(pairs)


def _by_scope(pairs: Pairs, changed: set[str]) -> Iterator[Finding]:
    """Yield the tables whose rules read a table with another scope."""
    for base, head in pairs.both("tables"):
        table = pairs.head.sql_tables[head.name]
        for operation in OPERATIONS:
            rule = _access(head, operation)
            read = table.reachable(set(names_in(rule.node))) if rule is not None else set()
            for name in sorted(read & changed) if base.model.has_rules else ():
                message = f"rows may be {_DOES[operation]} by other rows of '{name}', which count"
                yield finding(
                    "rule-loosened", f"table {head.name}", message, _place(head, operation)
                )


# ---- conditions
def _access(table: Resource[Table], operation: str) -> Condition:
    access = table.model.access
    found = None if access is None else access.of(operation)
    if not isinstance(found, Expression):
        return None
    always = isinstance(found.node, s.Literal) and found.node.value is True
    return None if always else found


def _scope(table: Resource[Table], key: str) -> Condition:
    model = table.model
    if key == "scope":
        return model.scope if isinstance(model.scope, Expression) else None
    name = model.soft_delete
    return None if name is None else Expression(s.Name(0, len(name), name), None, name)


def _place(table: Resource[Table], operation: str) -> Place:
    written = operation if operation in (table.document.root.get("access") or {}) else "write"
    return table.place("access", written)


def _text(condition: Condition) -> str:
    return f"'{_said(condition)}'" if condition is not None else "'true'"


def _said(condition: Expression) -> str:
    return " ".join(condition.text.split())


def _is_other(old: Condition, new: Condition) -> bool:
    if old is None or new is None:
        return old is not new
    return _said(old) != _said(new)


def _is_tighter(old: Condition, new: Condition) -> bool:
    """Return whether a condition has one more part of `and`, or one fewer of `or`."""
    if old is None or new is None:
        return old is None
    more = set(_parts(old, "and")) < set(_parts(new, "and"))
    return more or set(_parts(new, "or")) < set(_parts(old, "or")) or _said(new) == "false"


def _parts(condition: Expression, op: str) -> list[str]:
    text = condition.text
    return [" ".join(text[part.start : part.end].split()) for part in flatten(condition.node, op)]


# ---- steps
def _past(pairs: Pairs) -> Iterator[Finding]:
    """Yield steps that ignore rules, unless the old project had such a step there."""
    for name, function in sorted(pairs.head.functions.items()):
        if function is pairs.base.functions.get(name) and not pairs.renames["tables"]:
            continue
        had = Counter(_looks(pairs.base, pairs.old_name("functions", name)))
        for code, table, reason, place in _each(function):
            old = pairs.old_name("tables", table)
            had[code, old] -= 1
            if had[code, old] < 0:
                message = f"looks past the rules of '{table}': {reason}"
                yield finding(code, f"function {name}", message, place)


def _looks(project: Project, name: str) -> Iterator[tuple[str, str]]:
    function = project.functions.get(name)
    if function is not None:
        for code, table, _, _ in _each(function):
            yield code, table


def _each(function: Resource[Any]) -> Iterator[tuple[str, str, str, Place]]:
    for step in function.model.every_step:
        past = step.past
        for code, key, named in (
            ("unscoped-added", "unscoped", past.unscoped),
            ("bypass-added", "bypassAccess", past.bypassed),
        ):
            for table, reason in named.items():
                yield code, table, reason, function.at(step.place(key) or step.mark)


# ---- Find routes of a table that reach other rows than before, by `match` or `owner`


def find_loosened_matches(pairs: Pairs) -> Iterator[Finding]:
    """Yield routes that reach more rows than before."""
    for route, crud, old, new in _changed(pairs):
        for column in [name for name in old if new.get(name) != old[name]]:
            now = f"{column} == {new[column]}" if column in new else f"any '{column}'"
            message = f"reaches rows with {now}; it was {column} == {old[column]}"
            yield finding("match-loosened", title(route), message, crud.place(_key(crud)))


def find_tightened_matches(pairs: Pairs) -> Iterator[Finding]:
    """Yield routes that reach fewer rows than before."""
    for route, crud, old, new in _changed(pairs):
        for column in new.keys() - old.keys():
            message = f"only reaches rows with {column} == {new[column]}"
            yield finding("match-tightened", title(route), message, crud.place(_key(crud)))


def _changed(
    pairs: Pairs,
) -> Iterator[tuple[Route, Resource[Crud], Mapping[str, str], Mapping[str, str]]]:
    for pair in pairs.routes:
        if pair.base is None or pair.head is None:
            continue
        old, new = _made_of(pairs.base, pair.base), _made_of(pairs.head, pair.head)
        if old is not None and new is not None and old.blob != new.blob:
            yield pair.head, new, _matches(old.model), _matches(new.model)


def _made_of(project: Project, route: Route) -> Resource[Crud] | None:
    """Return the file about a table that made the function of a route; None for other routes."""
    crud = project.cruds.get(route.endpoint.name.rpartition("/")[0])
    function = project.functions.get(route.function)
    is_made = crud is not None and function is not None and function.file == crud.file
    return crud if is_made else None


def _matches(model: Crud) -> dict[str, str]:
    if model.owner is not None:
        return {model.owner: "vars.auth.userId"}
    return {
        column: value.text for column, value in model.match.items() if isinstance(value, Expression)
    }


def _key(crud: Resource[Crud]) -> str:
    return next((key for key in ("match", "owner") if key in crud.document.root), "table")
