"""The rules of the tables that a step reads and writes: what holds of them for who asks there."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Final, Protocol

from pydantic import StringConstraints

from bbops.base.diagnostics import suggest_resource
from bbops.base.names import ColumnName
from bbops.language.expressions.check import check_condition
from bbops.language.expressions.known import Known
from bbops.language.expressions.nodes import names_in
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.types import Type
from bbops.language.expressions.values import Expression
from bbops.language.sql.types import Rules, Table, lifted
from bbops.language.steps._notes import Notes
from bbops.source.yaml.document import Mark

Reason = Annotated[str, StringConstraints(min_length=1, max_length=300)]


Reasons = dict[ColumnName, Reason]
"""Tables whose rules a step looks past, each with why."""


@dataclass(frozen=True, slots=True)
class Past:
    """The rules that a step looks past.

    Attributes:
        unscoped: tables whose every row counts.
        bypassed: tables of which it may see and change each row.
    """

    unscoped: Mapping[str, str] = field(default_factory=dict)
    bypassed: Mapping[str, str] = field(default_factory=dict)

    def seen(self, tables: Mapping[str, Table]) -> Mapping[str, Table]:
        """Return the tables as the step sees them."""
        return lifted(tables, scope=self.unscoped, access=self.bypassed)


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks, on every way to a function: null where there may be nobody.

    Attributes:
        roots: the types of `auth` and `apiKey`.
        without: who has no user, as a message says it.
    """

    roots: Mapping[str, Type] = field(default_factory=dict)
    without: str = ""


@dataclass(frozen=True, slots=True)
class CheckedRules:
    """The tables that rules read, and whether one of them needs a user that may not be there."""

    reads: frozenset[str]
    needs_user: bool


class Kept(Protocol):
    """A step, seen from the rules that it keeps to."""

    @property
    def mark(self) -> Mark | None: ...
    @property
    def keeps_rules(self) -> bool: ...
    @property
    def past(self) -> Past: ...
    def place(self, key: str) -> Mark | None: ...


class _At(Protocol):
    """The check of a step, as far as rules ask it."""

    @property
    def scope(self) -> Scope: ...
    @property
    def tables(self) -> Mapping[str, Table]: ...
    @property
    def asking(self) -> Asking: ...
    @property
    def broken(self) -> frozenset[tuple[str, str]]: ...
    @property
    def notes(self) -> Notes: ...
    def report(self, at: Mark | None, code: str, message: str, hint: str = "") -> None: ...


def keep_rules(at: _At, table: Table, rules: Rules, operations: Sequence[str]) -> frozenset[str]:
    """Report a rule that asks for a user where there may be none; return the tables it reads."""
    found = check_rules(at.scope, table, at.asking, operations)
    if found.needs_user and at.asking.without:  # else its own file says what may be null
        hint = f"its rule is in {rules.file}; write 'vars.auth?.userId' there"
        message = f"the rule of '{table.name}' needs a user, and {at.asking.without}"
        at.report(None, "rule-needs-user", message, hint)
    if CACHED in at.notes.around and rules.asks_who(*operations):
        at.report(None, "past-rules", *cached(table.name))
    return found.reads


CACHED: Final = "'cache'"
"""What `around` of notes says inside of the step that keeps values for all requests."""


def cached(table: str) -> tuple[str, str]:
    """Return what is wrong with rows in a cache that not everybody may see, and the cure."""
    message = f"'cache' would show others what one may see of table '{table}'"
    return message, "read it behind the cache, or give a reason in 'bypassAccess'"


def check_kept(at: _At, step: Kept, ruled: Collection[str], used: Container[str]) -> None:
    """Report tables whose rules a step does not keep to, or looks past for nothing.

    Args:
        ruled: the tables with rules that it has asked for.
        used: all that it has asked for.
    """
    for name in sorted(ruled) if not step.keeps_rules else ():
        message = f"this step does not keep to the rules of table '{name}'"
        at.report(step.mark, "past-rules", message, "read it with 'find', and pass on its rows")
    for key, names in (("unscoped", step.past.unscoped), ("bypassAccess", step.past.bypassed)):
        for name in names:
            table, place = at.tables.get(name), step.place(key)
            if table is None and ("tables", name) not in at.broken:
                at.report(
                    place, "unknown-table", f"table '{name}' does not exist",
                    suggest_resource(name, "tables", at.tables),
                )  # fmt: skip
            elif table is not None and not (name in used and table.has(key)):
                why = "has no such rule" if name in used else "is not used by this step"
                at.report(
                    place, "nothing-unscoped", f"'{key}' changes nothing: table '{name}' {why}",
                    f"remove '{name}'",
                )  # fmt: skip


def check_rules(
    scope: Scope, table: Table, asking: Asking, operations: Sequence[str]
) -> CheckedRules:
    """Find the types in the rules of a table; what is wrong with them is told in its own file."""
    rules = table.rules
    assert rules is not None  # noqa: S101 - asked for tables that have some
    within, codes = rules.within[table.name], list[str]()
    conditions = [*rules.scope, *rules.of(*operations)]
    reads = {
        one for condition in conditions
        for one in within.reachable(set(names_in(condition.node)))
    }  # fmt: skip
    _find_types(scope, within, asking, conditions, codes)
    for other in (rules.within[name] for name in reads):
        scopes = [] if other.rules is None else other.rules.scope
        _find_types(scope, other, asking, scopes, codes)
    return CheckedRules(frozenset(reads), "maybe-null" in codes)


def _find_types(
    scope: Scope, table: Table, asking: Asking, conditions: Sequence[Expression], codes: list[str]
) -> None:  # fmt: skip
    inner = rule_scope(scope, table, asking.roots, codes)
    for condition in conditions:
        inner.known = Known()
        check_condition(condition, inner)


def rule_scope(scope: Scope, table: Table, roots: Mapping[str, Type], codes: list[str]) -> Scope:
    """Return the scope of a rule: its row, related rows, and who asks.

    Args:
        scope: the one that keeps the types.
        codes: takes those of the mistakes.
    """
    types = table.query_types()
    row = Type("map", fields=types, what=f"table '{table.name}'")
    return replace(
        scope, roots={**roots, "row": row}, report=lambda *mistake: codes.append(mistake[2]),
        known=Known(), wrong=set(), unclear=set(), reads=set(), columns=types, table=table.name,
        missing={}, watch=None, related=table, row="row", windows=False, is_complete=True,
    )  # fmt: skip
