"""The steps of functions: every name, type, table, column and function in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import count

from bbops.base.diagnostics import Diagnostic, has_errors
from bbops.compiler.check._surroundings import (
    ResolvedProject,
    arguments,
    asking,
    known_before,
    missing,
    readable,
)
from bbops.compiler.check._ways import Graph, in_order
from bbops.language.expressions.constants import DOUBTS
from bbops.language.expressions.known import FlowFacts, rejoined
from bbops.language.expressions.scope import Scope, Watch
from bbops.language.expressions.types import ANY, NEVER, NULL, SECRET, Type, concealed, join
from bbops.language.project import Resource
from bbops.language.resources.function import Function
from bbops.language.steps._checking import MOST_TRIES, Checking
from bbops.language.steps._surroundings import Hidden, Leak, Signature
from bbops.source.yaml.document import Mark

WARNINGS = frozenset({
    "unused-variable", "unreachable", "missing-return", "forgotten-braces", "undeclared-query",
    "unheard-event", "constant-key", "no-content", "nothing-unscoped", "long-claim",
}) | DOUBTS  # fmt: skip
"""Codes of what may be meant so."""

MOST_CALLS = 12
"""Calls in calls through which a private argument is followed."""

LEAKS = frozenset({"private-data", "private-stored", "secret-compared"})
"""Codes of what a function may not do with a private argument, so that its callers are told."""

_NAMING = frozenset({"endpoints", "channels"})
"""Kinds of files that name middleware: one that cannot be read may name any function."""
_Call = tuple[str, Hidden]
_Told = tuple[Type, tuple[Leak, ...]]
_NONE: Hidden = frozenset()


@dataclass(frozen=True, slots=True)
class CheckedFlow:
    """A function whose names are resolved: the types of its expressions, and its mistakes.

    Attributes:
        reads: (kind, name) of every resource that the types depend on.
        own_reads: (kind, name) of every resource that its own steps read.
        inherits: the variables that middleware may have set before it runs.
        gives: the type of what it returns.
        left: what is known where it ends without a value.
    """

    scope: Scope
    diagnostics: tuple[Diagnostic, ...]
    reads: frozenset[tuple[str, str]]
    inherits: frozenset[str]
    gives: Type
    left: FlowFacts
    own_reads: frozenset[tuple[str, str]]


@dataclass(slots=True)
class Flows:
    """The functions of a project, each checked after those that it builds on.

    Attributes:
        done: the functions that are checked.
        gives: what each one returns; in a circle of functions under check, as far as it is known.
        told: what a call with private arguments gives, and what it would do wrong with them; of
            one that is being followed, as far as it is known.
        following: the calls with private arguments that are being followed, the first one first.
        circling: those that build on a call which was not known yet, as it was met on its own way.
    """

    project: ResolvedProject
    graph: Graph
    done: dict[str, CheckedFlow] = field(default_factory=dict)
    gives: dict[str, Type] = field(default_factory=dict)
    told: dict[_Call, _Told] = field(default_factory=dict)
    following: list[_Call] = field(default_factory=list)
    circling: dict[_Call, None] = field(default_factory=dict)

    # ---- order
    def of(self, name: str) -> CheckedFlow:
        """Return a function, checked. O(steps of what it builds on), once."""
        if name not in self.done:
            self.check_all(self._needed(name))
        return self.done[name]

    def check_all(self, graph: Graph | None = None) -> None:
        """Check what is not checked yet, each function after those that it builds on."""
        graph = self.graph if graph is None else graph
        for group in in_order(graph) if graph.keys() - self.done.keys() else ():
            if not self.done.keys() >= {*group}:
                self.check_group(group)

    def _needed(self, name: str) -> Graph:
        todo, needed = [name], dict[str, tuple[str, ...]]()
        while todo:
            one = todo.pop()
            if one not in needed:
                needed[one] = self.graph[one]
                todo += self.graph[one]
        return dict(sorted(needed.items()))

    def check_group(self, group: tuple[str, ...]) -> None:
        """Check a function, or a circle of them until what they return changes no more."""
        members = frozenset(group)
        self.gives |= dict.fromkeys(group, NEVER)
        is_circle = any(one in members for name in group for one in self.graph[name])
        found: dict[str, CheckedFlow] = {}
        for attempt in count():
            before = [self.gives[name] for name in group]
            for name in reversed(group):
                found[name] = self.check(name)
                self.gives[name] = _next(self.gives[name], found[name].gives, attempt)
            if not is_circle or before == [self.gives[name] for name in group]:
                break
        self.gives |= {name: replace(ANY, nullable=False) for name in group
                       if self.gives[name] is NEVER}  # fmt: skip
        self.keep(found)
        if is_circle:  # from here on their calls are followed too
            self.keep({name: self.check(name) for name in group})

    def keep(self, found: Mapping[str, CheckedFlow]) -> None:
        """Keep checked functions, each with everything that its types depend on."""
        reads = {one for flow in found.values() for one in flow.reads}
        for name in found:
            for other in self.graph[name]:
                reads |= {("function", other)}
                reads |= self.done[other].reads if other in self.done else set()
        for name, flow in found.items():
            self.done[name] = replace(flow, reads=frozenset(reads))

    # ---- calls
    def signature(self, name: str) -> Signature:
        """Return what a call has to know of a function."""
        types, required = arguments(self.project.functions[name].model)
        return Signature(types, required, partial(self.call, name))

    def call(self, name: str, private: Hidden) -> _Told:
        """Return the type of a call's result, and what it would do wrong with private arguments."""
        if not private:
            return self.gives[name], ()
        if name not in self.done:
            return self._unknown(name, private), ()
        call = name, private
        if call in self.following or call in self.circling:
            self.circling |= dict.fromkeys(self.following)
        elif call not in self.told:
            if len(self.following) == MOST_CALLS:
                file = self.project.functions[name].file
                deep = Leak("private-data", f"{file}, too many calls deep to follow")
                return self._unknown(name, private), (deep,)
            self._follow(call)
        return self.told[call]

    def _follow(self, call: _Call) -> None:
        """Check a call; calls that meet each other again until they are told no more of."""
        self.told[call] = self._unknown(*call), ()
        self.following.append(call)
        self.told[call] = self._look(call)
        self.following.pop()
        if self.following:
            return
        for _ in range(MOST_TRIES if self.circling else 0):
            before = [self.told[one] for one in self.circling]
            for one in [*self.circling]:
                self.told[one] = self._look(one)
            if before == [self.told[one] for one in self.circling]:
                break
        self.circling.clear()

    def _look(self, call: _Call) -> _Told:
        name, private = call
        flow = self.check(name, private)
        usual = {(one.place, one.code) for one in self.done[name].diagnostics}
        found = [one for one in flow.diagnostics if one.code in LEAKS]
        leaks = (Leak(one.code, str(one.place)) for one in found
                 if (one.place, one.code) not in usual)  # fmt: skip
        return flow.gives, tuple(dict.fromkeys(leaks))

    def _unknown(self, name: str, private: Hidden) -> Type:
        """Return the type of a result as long as no more is known: all that is given is in it."""
        what = SECRET if any(is_secret for _, _, is_secret in private) else ""
        return concealed(self.gives[name], by=[replace(ANY, private=True, what=what)])

    # ---- one function
    def check(
        self, name: str, private: Hidden = _NONE, *, watch: Watch | None = None
    ) -> CheckedFlow:
        """Check a function; where `private` arguments are given to it, for what becomes of them.

        Args:
            watch: is told of each node of an expression, with the scope it is read in.
        """
        project, function = self.project, self.project.functions[name]
        found: list[Diagnostic] = []

        def report(mark: Mark | None, offset: int, code: str, message: str, hint: str) -> None:
            severity = "warning" if code in WARNINGS else "error"
            found.append(
                Diagnostic(function.at(mark, offset), code, message, hint, severity)  # type: ignore[arg-type]
            )

        scope = Scope(readable(project, name, private), report, missing=missing(project, function))
        scope.watch, scope.roles = watch, project.roles
        scope.known, scope.is_complete = known_before(project, name, self.left_by)
        inherits = frozenset({**scope.known.vars, **scope.known.unset})
        ways = project.ways_to(name)
        is_public = any(way.answers for way in ways) or not (ways or name in project.callers)
        at = Checking(
            scope, project.sql_tables, _Signatures(self), None, broken=project.broken,
            answers=is_public and not private,
            why_whole=_why_whole(project, name),
            topics=project.topics, payloads=project.payloads,
            webhooks=project.sent_webhooks,
            user=(project.caller_types["auth"].fields or {})["userId"],
            addons=project.steps_by_addon, inline=project.inline,
            asking=asking(project, name),
            channels={n: c.model.authentication for n, c in project.channels.items()},
        )  # fmt: skip
        at.steps(function.model.steps)
        gives, left = _endings(at)
        is_read = {(f"{kind}s", one) for kind, one in at.notes.reads}
        in_use = name in project.middleware or not is_read.isdisjoint(project.broken)
        returns = any(step.leaves for step in function.model.every_step)
        is_unreached = not ways and name not in project.callers and not returns
        in_use |= is_unreached and any(folder in _NAMING for folder, _ in project.broken)
        _warn_of_endings(at, function, in_use=in_use)
        reads = frozenset(at.notes.reads)
        return CheckedFlow(scope, _told(found, private), reads, inherits, gives, left, reads)

    def left_by(self, middleware: str) -> FlowFacts | None:
        """Return what middleware leaves to what runs after it; None while it is under check."""
        flow = self.done.get(middleware)
        return flow.left if flow else None


def _why_whole(project: ResolvedProject, name: str) -> str:
    """Return why the answer of a function cannot go on as a stream; empty where it can."""
    for way in project.ways_to(name):
        if way.is_middleware and way.answers:
            return f"it is middleware of {way.what}"
        if not (way.has_request and way.answers) or way.is_middleware:
            return f"{way.what} runs it"
    caller = project.callers.get(name)
    return f"function '{caller}' calls it" if caller else ""


class _Signatures(Mapping[str, Signature]):
    """Signatures made only for the functions that are called."""

    def __init__(self, flows: Flows) -> None:
        self.flows, self._callable = flows, flows.project.resources["functions"]

    def __getitem__(self, name: str) -> Signature:
        if name not in self._callable:
            raise KeyError(name)
        return self.flows.signature(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._callable)

    def __len__(self) -> int:
        return len(self._callable)


def _next(known: Type, found: Type, attempt: int) -> Type:
    """Return what a function of a circle returns, after one more check of it."""
    of = join(known, found)
    if attempt < MOST_TRIES or of == known:
        return of
    return concealed(ANY, by=[of])


def _endings(at: Checking) -> tuple[Type, FlowFacts]:
    """Return what a function returns, and what is known where it ends without a value."""
    notes, end = at.notes, at.scope.known
    gives, leaves = list(notes.gives), list(notes.leaves)
    if not end.ended:
        gives.append(NULL)
        leaves.append(end)
    left = rejoined([("", known) for known in leaves]) if leaves else FlowFacts(ended=True)
    return reduce(join, gives, NEVER), left


def _warn_of_endings(at: Checking, function: Resource[Function], *, in_use: bool) -> None:
    """Warn of variables that nothing reads, and of an end without `return` beside one with it.

    Args:
        in_use: it is middleware, whose variables others read, or a file is broken that it
            reads of, so that not all of it was checked.
    """
    if in_use:
        return
    if not at.scope.known.ended and any(of is not NULL for of in at.notes.gives):
        at.report(
            function.model.steps[-1].mark, "missing-return",
            "the steps may end here without a 'return', though others return a value",
            "add a 'return' after this step",
        )  # fmt: skip
    for name, place in at.notes.places.items():
        if name not in at.scope.reads:
            message = f"nothing reads the variable '{name}'"
            at.report(place, "unused-variable", message, f"remove it, or use 'vars.{name}'")


def _told(found: list[Diagnostic], private: Hidden) -> tuple[Diagnostic, ...]:
    """Leave out warnings that a mistake explains."""
    if not has_errors(found) or private:
        return tuple(found)
    wrong = {one.place for one in found if one.severity == "error"}
    return tuple(
        one for one in found
        if one.severity == "error" or (one.code != "unused-variable" and one.place not in wrong)
    )  # fmt: skip
