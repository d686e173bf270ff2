"""The check of a step: types, mistakes, and the paths through the steps."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Protocol

from bbops.base.diagnostics import suggest_resource
from bbops.base.header_values import find_fault
from bbops.base.names import moved_hint
from bbops.language.expressions.check import check_condition, check_value, refuse_null
from bbops.language.expressions.known import Facts, FlowFacts, rejoined
from bbops.language.expressions.narrow import Outcomes
from bbops.language.expressions.nodes import relations_in
from bbops.language.expressions.scope import SIGNED_IN, Report, Scope
from bbops.language.expressions.types import (
    ANY,
    TEXT,
    Type,
    fits,
    joined,
    list_of,
    map_of,
    may_be_null,
    mistaken,
)
from bbops.language.expressions.values import (
    Bare,
    Constant,
    Expression,
    ListValue,
    MapValue,
    Template,
    Value,
)
from bbops.language.sql.types import SqlTable
from bbops.language.steps._flow import OwnAction
from bbops.language.steps._notes import Notes, Round
from bbops.language.steps._ruled import RuleCaller, RuledStep, check_kept, keep_rules
from bbops.language.steps._surroundings import SentWebhook, Signature, Topic
from bbops.runtime.http.headers import can_set
from bbops.source.yaml.document import Mark, Text

MOST_TRIES = 4
"""The rounds of a loop after which a variable with a changing type becomes `any`."""

_WORDS = {
    "integer": "a whole number", "number": "a number", "boolean": "true or false", "map": "a map",
    "list": "a list",
}  # fmt: skip

Mistake = tuple[Mark | None, int, str, str, str]


class Checked(RuledStep, Protocol):
    """A step as its check sees it."""

    @property
    def as_(self) -> str | None: ...
    def seen(self, tables: Mapping[str, SqlTable]) -> Mapping[str, SqlTable]: ...
    def check(self, at: Checking) -> Type: ...


@dataclass(frozen=True, slots=True)
class Checking:
    """The context of a step's check.

    Attributes:
        answers: a `return` reaches a client; false in a function that is only called.
        why_whole: the reason why its answer cannot be a stream; empty if it can.
        topics, webhooks: each file in realtime/ and webhooks/ by its name.
        payloads: the types that the functions of an event's triggers accept, by event.
        channels: the authentication of each channel.
        user: the type of a user's id.
        addons: the steps of each addon of the project's own, by their names after the dot.
        inline: the endpoints with steps of their own.
        asking: the caller, as the rules of tables read it.
        ruled: the tables with rules that the step uses.
        used: all tables that the step uses.
    """

    scope: Scope
    tables: Mapping[str, SqlTable]
    functions: Mapping[str, Signature]
    step: Mark | None
    broken: frozenset[tuple[str, str]] = frozenset()
    answers: bool = True
    why_whole: str = ""
    notes: Notes = field(default_factory=Notes)
    topics: Mapping[str, Topic] = field(default_factory=dict)
    webhooks: Mapping[str, SentWebhook] = field(default_factory=dict)
    payloads: Mapping[str, Sequence[Type]] = field(default_factory=dict)
    channels: Mapping[str, str] = field(default_factory=dict)
    user: Type = TEXT
    addons: Mapping[str, Mapping[str, OwnAction]] = field(default_factory=dict)
    inline: Container[str] = ()
    asking: RuleCaller = field(default_factory=RuleCaller)
    ruled: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)

    def report(self, at: Mark | None, code: str, message: str, hint: str = "") -> None:
        """Report a mistake at `at`, or at the step."""
        self.scope.report(at or self.step, 0, code, message, hint)

    def value(self, value: Value | None, *, within: Scope | None = None) -> Type:
        """Check a value and return its type; a missing value is `any`."""
        return ANY if value is None else check_value(value, within or self.scope)

    def need_signing_key(self) -> None:
        """Refuse a step that signs tokens if the project has no signing key."""
        if "no-auth" in self.scope.missing:
            self.report(
                None, "no-signing-key", "project.yaml has no 'auth'", self.scope.missing["no-auth"]
            )

    def need(
        self, value: Value | None, kinds: str, what: str, place: Mark | None, *,
        null: bool = False,
    ) -> Type:  # fmt: skip
        """Check a value that must be of one of the `kinds`; with `null` it may be null too.

        Args:
            what: the subject of the message.
        """
        if value is None:
            return ANY
        return self.fit(value, self.value(value), kinds, what, place, null=null)

    def fit(
        self, value: Value, of: Type, kinds: str, what: str, place: Mark | None, *,
        null: bool = False,
    ) -> Type:  # fmt: skip
        """Check a value that has a type already, as `need` does."""
        words = kinds.split()
        if any(fits(of, kind) for kind in words):
            return of if null else self.refuse_null(value, of, what, place)
        wanted = " or ".join(_WORDS.get(kind, kind) for kind in words)
        hint = "add '| toNumber'" if of.kind == "text" and "number" in words else ""
        self.report(mark_of(value) or place, "type", f"{what} needs {wanted}, got {of}", hint)
        return mistaken(hides=of.hides)

    def refuse_null(
        self, value: Value, of: Type, what: str, place: Mark | None, cure: str = ""
    ) -> Type:
        """Report a checked value that may be null, and return its type without null."""
        if may_be_null(of) and value.mark is None:
            value = replace(value, mark=place or self.step)
        return refuse_null(value, of, self.scope, what, cure)

    def is_sound(self, expression: Expression) -> bool:
        """Return whether the check of an expression found no mistakes."""
        return id(expression.node) not in self.scope.wrong

    def is_clear(self, condition: Bare) -> bool:
        """Return whether the facts of a checked condition are known."""
        return isinstance(condition, Expression) and id(condition.node) not in self.scope.unclear

    def condition(
        self, expression: Bare, place: Mark | None, *, within: Scope | None = None
    ) -> Outcomes:
        """Check an expression that must be true or false; return the facts of both outcomes."""
        if isinstance(expression, Expression):
            if expression.mark is None:
                expression = replace(expression, mark=place)
            return check_condition(expression, within or self.scope)
        self.value(expression)
        return {}, {}

    def set(self, name: str, of: Type, place: Mark | None) -> None:
        """Record that this step sets `vars.<name>`; `place` is the place of the name."""
        if name in SIGNED_IN:
            message = f"'vars.{name}' is {SIGNED_IN[name]}"
            self.report(None, "reserved-name", message, "rename it")
        self.notes.places.setdefault(name, place or self.step)
        had = self.notes.had.setdefault(name, [])
        if of not in had:
            had.append(of)
        self.scope.known.set(name, of)

    def public(self, value: Value | None, what: str) -> Type:
        """Check a value that leaves the server: it may contain nothing private, at any depth."""
        if isinstance(value, MapValue):
            return map_of({name: self.public(item, what) for name, item in value.items})
        if isinstance(value, ListValue):
            return list_of(joined([self.public(item, what) for item in value.items]))
        found = self.value(value)
        if found.hides:
            self.report(
                mark_of(value), "private-data",
                f"{what} would expose a private column or a secret",
                "choose the fields you want, or use '| omit(…)'",
            )  # fmt: skip
        return found

    def headers(self, value: Value | None, what: str) -> None:
        """Check the headers of an answer: allowed names, texts, nothing private."""
        found = self.public(value, what)
        for name, item in value.items if isinstance(value, MapValue) else ():
            of = (found.fields or {}).get(name, ANY)
            place = (value.keys_at or {}).get(name) if isinstance(value, MapValue) else None
            self.refuse_null(item, of, f"header '{name}'", place)
            if not can_set(name):
                self.report(
                    place, "bad-name", f"header '{name}' cannot be set",
                    "use 'contentType'" if name.lower() == "content-type" else "",
                )  # fmt: skip
            self.header_value(name, item, place)

    def header_value(self, name: str, item: Value, place: Mark | None) -> None:
        """Report constant text that no header can have, such as a line break."""
        parts = item.parts if isinstance(item, Template) else ()
        parts = (item.value,) if isinstance(item, Constant) else parts
        faults = (find_fault(part) for part in parts if isinstance(part, str))
        if fault := next(filter(None, faults), ""):
            hint = "write it in one line, or with '>-' in place of '|'"
            self.report(
                mark_of(item) or place, "bad-value", f"header '{name}' {fault}",
                hint if "line break" in fault else "",
            )  # fmt: skip

    def steps(self, steps: Sequence[Checked]) -> None:
        """Check a list of steps in order; each sees the variables of the steps before it."""
        was_ended = False
        for step in steps:
            if self.scope.known.ended and not was_ended:
                was_ended = True
                in_loop = self.notes.around and isinstance(self.notes.around[-1], Round)
                leave = "leave this round, return or throw" if in_loop else "return or throw"
                self.report(
                    step.mark, "unreachable", "this step never runs",
                    f"the steps before it always {leave}",
                )  # fmt: skip
            self.scope.known.ended = False
            self.check_step(step)
        self.scope.known.ended |= was_ended

    def check_step(self, step: Checked) -> None:
        tables = step.seen(self.tables)
        inner = replace(self, step=step.mark or self.step, tables=tables, ruled=set(), used=set())
        found = step.check(inner)
        check_kept(self, step, inner.ruled, inner.used)
        if step.as_ is not None:
            inner.set(step.as_, found, step.place("as"))

    # ---- paths through the steps
    @property
    def line(self) -> int:
        """The line of the step, for hints."""
        return self.step.line if self.step else 1

    def ends(self) -> None:
        """Record that no step after this one runs."""
        self.scope.known.ended = True

    def branch(
        self,
        steps: Sequence[Checked],
        facts: Facts | None = None,
        *,
        start: FlowFacts | None = None,
    ) -> FlowFacts:
        """Check steps that may run, from here or from `start`; return the facts at their end.

        Args:
            facts: additional facts at their start.
        """
        before = self.scope.known
        self.scope.known = (start or before).copy(facts)
        self.steps(steps)
        end, self.scope.known = self.scope.known, before
        return end

    def rejoin(self, *ends: tuple[str, FlowFacts]) -> None:
        """Continue after paths meet: each is (words for the path of a variable, its end)."""
        self.scope.known = rejoined(ends)

    def may_stop(self, names: Sequence[str], why: str) -> FlowFacts:
        """Return the facts after any number of steps has set some of these variables.

        A variable has any of its types so far: for steps that run after a failure.
        """
        found = self.scope.known.copy()
        for name in names:
            found.forget("vars", name)
            if name in found.vars:
                found.vars[name] = joined([found.vars[name], *self.notes.had.get(name, ())])
        found.may_lack(names, why)
        return found

    def repeat(self, body: Callable[[], None], names: Sequence[str], why: str, key: int) -> None:
        """Check a body that runs any number of times and sets these variables.

        Its facts hold in every round: rounds are tried until nothing changes, and only the
        mistakes of the last one count.

        Args:
            why: the hint for a variable that is set nowhere else.
            key: the loop's identity.
        """
        scope, report, before = self.scope, self.scope.report, self.scope.known
        start = before.copy()
        start.may_lack(names, why)
        if key in self.notes.rounds:  # inside another loop: the facts of an earlier try
            start = _meeting(start, self.notes.rounds[key], why)
        found: list[Mistake] = []
        end = before
        for attempt in count():
            found.clear()
            scope.report, scope.known = _collector(found), start.copy()
            body()
            end = scope.known
            again = _meeting(start, end, why)
            if again.says_as_much_as(start):
                break
            start = again if attempt < MOST_TRIES else again.widened(start)
        self.notes.rounds[key] = start
        scope.report = report
        for mistake in found:
            report(*mistake)
        self.rejoin(("", before), (why, end))

    @contextmanager
    def within(self, around: Round | str) -> Iterator[None]:
        """Run the block inside of a loop's round, or of a step that loops cannot leave."""
        self.notes.around.append(around)
        yield
        self.notes.around.pop()

    # ---- surroundings
    def table(self, name: Text, *operations: str) -> SqlTable | None:
        """Return the table of that name, or report that it does not exist.

        Args:
            operations: the step's operations on its rows, apart from reading.
        """
        self.notes.reads.add(("table", str(name)))
        found = self.tables.get(name)
        if found is None and ("tables", name) not in self.broken:
            self.report(
                mark_of(name), "unknown-table", f"table '{name}' does not exist",
                suggest_resource(name, "tables", self.tables),
            )  # fmt: skip
        if found is not None:
            self.keep_rules(found, "read", *operations)
        return found

    def follows(self, table: SqlTable, expression: Bare) -> None:
        """Note the tables that a query's expression reads through relations."""
        if isinstance(expression, Expression):
            self.reads(table.reachable(set(relations_in(expression.node, self.scope.roots))))

    def reads(self, names: Iterable[str]) -> None:
        """Note the tables that a query reads beside its own."""
        for name in names:
            self.notes.reads.add(("table", name))
            if name in self.tables:
                self.keep_rules(self.tables[name], "read")

    def keep_rules(self, table: SqlTable, *operations: str) -> None:
        """Check the rules that apply to a step, for its callers."""
        self.used.add(table.name)
        if table.rules is not None:
            self.ruled.add(table.name)
            reads = keep_rules(self, table, table.rules, operations)
            self.notes.reads.update(("table", name) for name in reads)

    def function(self, name: Text) -> Signature | None:
        """Return the signature of the function of that name, or report that it does not exist."""
        self.notes.reads.add(("function", str(name)))
        found = self.functions.get(name)
        if found is None and ("functions", name) not in self.broken:
            self.report(
                mark_of(name), "unknown-function", f"function '{name}' does not exist",
                moved_hint(self.inline, name)
                or suggest_resource(name, "functions", self.functions),
            )  # fmt: skip
        return found


def _collector(found: list[Mistake]) -> Report:
    def collect(mark: Mark | None, offset: int, code: str, message: str, hint: str) -> None:
        found.append((mark, offset, code, message, hint))

    return collect


def _meeting(start: FlowFacts, end: FlowFacts, why: str) -> FlowFacts:
    found = rejoined([("", start), (why, end)])
    found.blamed = start.blamed  # otherwise the next try would miss the mistakes of this one
    return found


def mark_of(text: object) -> Mark | None:
    """Return the place of a text or value, if it came from a file."""
    return getattr(text, "mark", None)
