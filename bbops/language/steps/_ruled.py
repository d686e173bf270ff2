"""The rules of the tables that a step reads and writes, for the callers of its function."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Final, Protocol

from pydantic import StringConstraints

from bbops.base.diagnostics import suggest_resource
from bbops.base.names import ColumnName
from bbops.language.expressions.check import check_condition
from bbops.language.expressions.known import FlowFacts
from bbops.language.expressions.nodes import names_in
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.types import Type
from bbops.language.expressions.values import Expression
from bbops.language.sql.types import Rules, SqlTable, lifted
from bbops.language.steps._notes import Notes
from bbops.source.yaml.document import Mark

Reason = Annotated[str, StringConstraints(min_length=1, max_length=300)]


Reasons = dict[ColumnName, Reason]
"""Tables whose rules a step ignores, each with the reason."""


@dataclass(frozen=True, slots=True)
class Past:
    """The rules that a step ignores.

    Attributes:
        unscoped: tables whose every row counts.
        bypassed: tables of which it may see and change each row.
    """

    unscoped: Mapping[str, str] = field(default_factory=dict)
    bypassed: Mapping[str, str] = field(default_factory=dict)

    def seen(self, tables: Mapping[str, SqlTable]) -> Mapping[str, SqlTable]:
        """Return the tables as the step sees them."""
        return lifted(tables, scope=self.unscoped, access=self.bypassed)


@dataclass(frozen=True, slots=True)
class RuleCaller:
    """The caller, on every path to a function: null if it may be anonymous.

    Attributes:
        roots: the types of `auth` and `apiKey`.
        without: the anonymous callers, as a message names them.
    """

    roots: Mapping[str, Type] = field(default_factory=dict)
    without: str = ""


@dataclass(frozen=True, slots=True)
class CheckedRules:
    """The tables that rules read, and whether a rule needs a user that may be missing."""

    reads: frozenset[str]
    needs_user: bool


class RuledStep(Protocol):
    """A step, as the rules of tables see it."""

    @property
    def mark(self) -> Mark | None: ...
    @property
    def keeps_rules(self) -> bool: ...
    @property
    def past(self) -> Past: ...
    def place(self, key: str) -> Mark | None: ...


class _At(Protocol):
    """The check of a step, as rules use it."""

    @property
    def scope(self) -> Scope: ...
    @property
    def tables(self) -> Mapping[str, SqlTable]: ...
    @property
    def asking(self) -> RuleCaller: ...
    @property
    def broken(self) -> frozenset[tuple[str, str]]: ...
    @property
    def notes(self) -> Notes: ...
    def report(self, at: Mark | None, code: str, message: str, hint: str = "") -> None: ...


def keep_rules(at: _At, table: SqlTable, rules: Rules, operations: Sequence[str]) -> frozenset[str]:
    """Report a rule that needs a user who may be missing; return the tables it reads."""
    found = check_rules(at.scope, table, at.asking, operations)
    if found.needs_user and at.asking.without:  # otherwise its own file reports a null
        hint = f"its rule is in {rules.file}; write 'vars.auth?.userId' there"
        message = f"the rule of '{table.name}' needs a user, and {at.asking.without}"
        at.report(None, "rule-needs-user", message, hint)
    if CACHED in at.notes.around and rules.asks_who(*operations):
        at.report(None, "past-rules", *cached(table.name))
    return found.reads


CACHED: Final = "'cache'"
"""The marker in `around` of notes for a step that keeps values for all requests."""


def cached(table: str) -> tuple[str, str]:
    """Return message and hint for cached rows that only some callers may see."""
    message = f"'cache' would show others what one may see of table '{table}'"
    return message, "read it behind the cache, or give a reason in 'bypassAccess'"


def check_kept(at: _At, step: RuledStep, ruled: Collection[str], used: Container[str]) -> None:
    """Report tables whose rules a step breaks, or ignores without a need.

    Args:
        ruled: the tables with rules that it uses.
        used: all tables that it uses.
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
    scope: Scope, table: SqlTable, asking: RuleCaller, operations: Sequence[str]
) -> CheckedRules:
    """Find the types in the rules of a table; their mistakes are reported in its own file."""
    rules = table.rules
    assert rules is not None  # noqa: S101 - the caller passes tables with rules
    within, codes = rules.within[table.name], list[str]()
    conditions = [*rules.scope, *rules.of(*operations)]
    reads = {
        read for condition in conditions
        for read in within.reachable(set(names_in(condition.node)))
    }  # fmt: skip
    _find_types(scope, within, asking, conditions, codes)
    for other in (rules.within[name] for name in reads):
        scopes = [] if other.rules is None else other.rules.scope
        _find_types(scope, other, asking, scopes, codes)
    return CheckedRules(frozenset(reads), "maybe-null" in codes)


def _find_types(
    scope: Scope, table: SqlTable, asking: RuleCaller, conditions: Sequence[Expression],
    codes: list[str],
) -> None:  # fmt: skip
    inner = rule_scope(scope, table, asking.roots, codes)
    for condition in conditions:
        inner.known = FlowFacts()
        check_condition(condition, inner)


def rule_scope(scope: Scope, table: SqlTable, roots: Mapping[str, Type], codes: list[str]) -> Scope:
    """Return the scope of a rule: its row, related rows, and the caller.

    Args:
        scope: the scope that keeps the types.
        codes: takes the codes of the mistakes.
    """
    types = table.query_types()
    row = Type("map", fields=types, what=f"table '{table.name}'")
    return replace(
        scope, roots={**roots, "row": row}, report=lambda *mistake: codes.append(mistake[2]),
        known=FlowFacts(), wrong=set(), unclear=set(), reads=set(), columns=types, table=table.name,
        missing={}, watch=None, related=table, row="row", windows=False, is_complete=True,
    )  # fmt: skip
