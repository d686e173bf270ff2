"""The relations between resources, and the tables that functions use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, Self, get_args

from bbops.base.model import Model
from bbops.compiler.check import CheckedProject
from bbops.language.project import Resource
from bbops.language.steps._base import Step
from bbops.language.steps.delete import Delete
from bbops.language.steps.find import Find
from bbops.language.steps.insert import Insert
from bbops.language.steps.sql import Sql
from bbops.language.steps.update import Update
from bbops.review.outline.outline import TestKind

Index = Mapping[str, tuple[str, ...]]
"""Sorted names by a name."""


@dataclass(frozen=True)
class Relations:
    """Users of functions, tables and topics. O(resources) in all, each index on first use.

    Attributes:
        callers: the calling functions of each function.
        enqueuers: the functions that start jobs of each function.
        endpoints: the endpoints of each function; `middleware` those before which it runs.
        triggers: the triggers of each function, also through `onDead`; `tasks` likewise.
        agents: the agents that have each function as a tool.
        tests: the test files of each target, such as `endpoint notes/list`.
        uses: the tables that each function reads and writes itself.
    """

    project: CheckedProject
    callers: Index
    enqueuers: Index
    endpoints: Index
    middleware: Index
    tasks: Index
    triggers: Index
    agents: Index
    tests: Index
    uses: Mapping[str, TableUses]
    _reached: dict[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, project: CheckedProject) -> Self:
        """Return the relations of a project."""
        routes = project.routes
        return cls(
            project,
            _index((callee, name) for name, many in project.callees.items() for callee in many),
            {name: tuple(sorted(many)) for name, many in project.started.items()},
            _index((route.function, route.endpoint.name) for route in routes),
            _index((name, route.endpoint.name) for route in routes for name in route.middleware),
            _index(_functions_of(project.tasks)),
            _index(_functions_of(project.triggers)),
            _index(
                (tool, name)
                for name, agent in project.agents.items()
                for tool in agent.model.tool_names
            ),
            _index(_targets(project)),
            {name: find_uses(project, name) for name in project.functions},
        )

    def tables_of(self, functions: Iterable[str]) -> tuple[str, ...]:
        """Return the tables that functions, and the functions they call, read or write."""
        return tuple(sorted({table for name in functions for table in self._reach(name)}))

    def _reach(self, function: str) -> frozenset[str]:
        if function not in self._reached:
            called, waiting = {function}, [function]
            while waiting:
                more = {*self.project.callees.get(waiting.pop(), ())} - called
                called |= more
                waiting += more
            uses = [self.uses[name] for name in called if name in self.uses]
            tables = {table for used in uses for table in (*used.reads, *used.writes)}
            self._reached[function] = frozenset(tables)
        return self._reached[function]

    @cached_property
    def readers(self) -> Index:
        """The functions that read each table."""
        return _index((table, name) for name, uses in self.uses.items() for table in uses.reads)

    @cached_property
    def writers(self) -> Index:
        """The functions that write each table."""
        return _index((table, name) for name, uses in self.uses.items() for table in uses.writes)

    @cached_property
    def endpoints_of_tables(self) -> Index:
        """The endpoints that reach each table through their functions."""
        return _index(
            (table, route.endpoint.name)
            for route in self.project.routes
            for table in self.tables_of((route.function, *route.middleware))
        )

    @cached_property
    def endpoints_of_channels(self) -> Index:
        """The endpoints of each channel."""
        routes = self.project.routes
        return _index(
            (route.channel.name, route.endpoint.name) for route in routes if route.channel
        )

    @cached_property
    def referring(self) -> Index:
        """The columns that refer to each table, such as `orders.user_id`."""
        return _index(
            (column.references.partition(".")[0], f"{name}.{key}")
            for name, table in self.project.tables.items()
            for key, column in table.model.columns.items()
            if column.references
        )

    @cached_property
    def publishers(self) -> Index:
        """The functions that publish on each topic."""
        return _index(self._steps("publish", "realtime"))

    @cached_property
    def senders(self) -> Index:
        """The functions that send each webhook."""
        return _index(self._steps("send", "webhook"))

    def _steps(self, key: str, parameter: str) -> Iterator[tuple[str, str]]:
        for name, function in self.project.functions.items():
            for step in function.model.every_step:
                if step.key == key:
                    yield str(getattr(getattr(step, key), parameter)), name


def _functions_of(resources: Mapping[str, Resource[Any]]) -> Iterator[tuple[str, str]]:
    for name, resource in resources.items():
        model: Model = resource.model
        for key in ("function", "on_dead"):
            if (function := getattr(model, key)) is not None:
                yield function, name


def _targets(project: CheckedProject) -> Iterator[tuple[str, str]]:
    for name, test in project.tests.items():
        kind, target = target_of(test.model)
        yield f"{kind} {target}", name


def target_of(test: Any) -> tuple[TestKind, str]:
    """Return the kind and the name of the resource that a test file tests."""
    kinds = get_args(TestKind)
    return next((kind, name) for kind in kinds if (name := getattr(test, kind)) is not None)


def _index(pairs: Iterable[tuple[str, str]]) -> Index:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for key, name in pairs:
        found[key].add(name)
    return {key: tuple(sorted(names)) for key, names in found.items()}


# ---- The tables that a function reads and writes by its own steps

_INTO: Final = frozenset({"into", "update"})
"""Words of SQL before the name of a table that is written."""


@dataclass(frozen=True, slots=True)
class TableUses:
    """Names of tables, sorted."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]


def find_uses(project: CheckedProject, function: str) -> TableUses:
    """Return the tables of a function's own steps, without its callees.

    It also reads tables behind relations, and tables that the rules of others name.
    """
    steps = project.functions[function].model.every_step
    known = project.tables.keys()
    writes = {name for step in steps for name in _writes(step)} & known
    named = {name for step in steps for name in _reads(step)} & known
    implied = {name for kind, name in project.flows.of(function).own_reads if kind == "table"}
    reads = named | (implied & known) - writes
    return TableUses(tuple(sorted(reads)), tuple(sorted(writes)))


def _writes(step: Step) -> Iterator[str]:
    match step:
        case Insert():
            yield str(step.insert.table)
        case Update():
            yield str(step.update.table)
        case Delete():
            yield str(step.delete.table)
        case Sql() if step.sql.mode == "write":
            yield from _written(step.own.words)


def _reads(step: Step) -> Iterator[str]:
    match step:
        case Find():
            parts = step.find.union or ()
            yield from (
                str(name) for name in (step.find.table, *(part.table for part in parts)) if name
            )
        case Sql():
            words = step.own.words
            written = {*_written(words)} if step.sql.mode == "write" else set()
            yield from {*words} - written


def _written(words: tuple[str, ...]) -> Iterator[str]:
    previous = ""
    for word, name in pairwise(words):
        if word in _INTO or (previous, word) == ("delete", "from"):
            yield name
        previous = word
