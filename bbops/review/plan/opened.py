"""Find stored values that become public.

The check itself finds the values: a route returns a column if the project would be refused with
that column private. The rows depend on the conditions of a `where` apart from the client's own
choices.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Final

from bbops.base.diagnostics import Place
from bbops.compiler.check import CheckedProject
from bbops.language.expressions.inside import conjuncts, nodes
from bbops.language.expressions.nodes import Literal, Name, Node
from bbops.language.expressions.values import Expression
from bbops.language.project import OPEN, Route
from bbops.language.sql.types import SqlTable
from bbops.language.steps._select import opened, path_to
from bbops.language.steps._shape import Many, Selected
from bbops.language.steps.find import Find
from bbops.review.plan.changes import Pairs, address, run_by, title
from bbops.review.plan.codes import Finding, finding

_CHOSEN: Final = frozenset({"params", "query", "input", "headers", "request"})
"""Roots that the client chooses: a condition on them protects no row."""

_LOOKED: Final = 20
"""The most routes whose columns are searched; with more routes, only tables are compared."""

_SHOWN: Final = 5

Shape = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class PublicValues:
    """The values of one table that a route returns to every caller.

    Attributes:
        columns: the columns in its answers.
        rows: for each `find`, the conditions that the client cannot choose.
    """

    table: str
    columns: frozenset[str]
    rows: tuple[frozenset[Shape], ...]


def find_opened(pairs: Pairs) -> Iterator[Finding]:
    """Yield the columns and rows that only new public routes return."""
    open_now = [public for public in pairs.head.routes if public.authentication in OPEN]
    was = {address(public): public for public in pairs.base.routes if public.authentication in OPEN}
    same = {new.name for old, new in pairs.both("tables") if old.blob == new.blob}
    if same == pairs.head.tables.keys():  # so only other routes can return more
        others = {pair.head.endpoint.name for pair in pairs.other_routes if pair.head is not None}
        open_now = [public for public in open_now if public.endpoint.name in others]
    changed = [
        route for route in open_now
        if not _is_as_before(pairs, same, was.get(address(route)), route)
    ]  # fmt: skip
    if not changed:
        return
    head = _Giving(pairs.head, pairs.head.tables.keys(), are_many=len(changed) > _LOOKED)
    now = [
        (route, given, pairs.old_name("tables", given.table))
        for route in changed
        for given in head.of(route)
    ]
    base = _Giving(pairs.base, {old for _, _, old in now} & pairs.base.tables.keys())
    before = [given for route in was.values() for given in base.of(route)]
    for route, given, old in now:
        yield from _compare(
            pairs, route, given, [earlier for earlier in before if earlier.table == old]
        )


def _is_as_before(pairs: Pairs, same: AbstractSet[str], base: Route | None, head: Route) -> bool:
    """Return whether a route runs the same functions on the same tables, which are `same`."""
    if base is None:
        return False
    run = run_by(pairs.head, head)
    was = [pairs.base.functions[function].blob for function in run_by(pairs.base, base)]
    if was != [pairs.head.functions[function].blob for function in run]:
        return False
    return _tables(pairs.head, run) <= same


def _tables(project: CheckedProject, functions: Iterable[str]) -> set[str]:
    """Return the tables that functions may read."""
    flows = map(project.flows.of, functions)
    return {name for flow in flows for kind, name in flow.reads if kind == "table"}


def _compare(
    pairs: Pairs, route: Route, given: PublicValues, known: Sequence[PublicValues]
) -> Iterator[Finding]:
    place = route.code_place
    had = {column for other in known for column in other.columns}
    renamed = pairs.head.tables[given.table].model.columns
    new = sorted(name for name in given.columns if (renamed[name].renamed_from or name) not in had)
    if new:
        names = ", ".join(f"'{name}'" for name in new[:_SHOWN])
        more = f" and {len(new) - _SHOWN} more" if len(new) > _SHOWN else ""
        yield _tell(route, f"gives anybody {names}{more} of table '{given.table}'", place)
    elif not all(_is_within(row, known) for row in given.rows):
        yield _tell(route, f"gives anybody rows of table '{given.table}'", place)


def _tell(route: Route, what: str, place: Place) -> Finding:
    return finding("rows-opened", title(route), f"{what}, which no public route did before", place)


def _is_within(asked: frozenset[Shape], known: Iterable[PublicValues]) -> bool:
    """Return whether an old public `find` returned all rows that meet these conditions."""
    return any(conditions <= asked for given in known for conditions in given.rows)


class _Giving:
    """The values of some tables that the routes of one project return; each check is made once."""

    def __init__(
        self, project: CheckedProject, of: Collection[str], *, are_many: bool = False
    ) -> None:
        """Args: `are_many` compares tables as a whole."""
        self._project, self._of, self._are_many = project, of, are_many
        self._known: dict[tuple[str, ...], list[PublicValues]] = {}

    def of(self, route: Route) -> list[PublicValues]:
        """Return the values that a route returns, by table."""
        functions = run_by(self._project, route)
        if functions not in self._known:
            self._known[functions] = list(self._find(functions))
        return self._known[functions]

    def _find(self, functions: tuple[str, ...]) -> Iterator[PublicValues]:
        for table in sorted(_tables(self._project, functions).intersection(self._of)):
            every = frozenset(
                name for name, column in self._project.tables[table].model.columns.items()
                if not column.private
            )  # fmt: skip
            if not self._gives(functions, table, every):
                continue
            columns = every if self._are_many else frozenset(
                name for name in every if self._gives(functions, table, {name})
            )  # fmt: skip
            yield PublicValues(table, columns, tuple(self._rows(functions, table)))

    def _gives(self, functions: tuple[str, ...], table: str, columns: Iterable[str]) -> bool:
        found = self._project.tables[table]
        hidden = {
            name: column.model_copy(update={"private": True}) if name in columns else column
            for name, column in found.model.columns.items()
        }
        model = found.model.model_copy(update={"columns": hidden})
        tables = {**self._project.tables, table: replace(found, model=model)}
        closed = self._project.having("tables", tables)
        flows = map(closed.flows.of, functions)
        return any(d.code == "private-data" for flow in flows for d in flow.diagnostics)

    def _rows(self, functions: Iterable[str], table: str) -> Iterator[frozenset[Shape]]:
        """Yield the conditions of each `find` of a table; none if it is read in another way."""
        found = [
            shapes
            for name in functions
            for step in self._project.functions[name].model.every_step if isinstance(step, Find)
            for read, shapes in self._read(step) if read == table
        ]  # fmt: skip
        yield from found or [frozenset()]

    def _read(self, step: Find) -> Iterator[tuple[str, frozenset[Shape]]]:
        """Yield the tables that a `find` reads, with nested lists, and the conditions of each."""
        find, having = step.find, step.find.aggregate and step.find.aggregate.having
        if find.union is not None:
            yield from ((str(part.table), frozenset(_fixed(part.where))) for part in find.union)
            return
        yield str(find.table), frozenset([*_fixed(find.where), *_fixed(having)])
        table = self._project.sql_tables.get(str(find.table))
        if table is not None and isinstance(find.select, Selected):
            yield from _nested(table, opened(find.select, table))


def _nested(table: SqlTable, shape: Selected) -> Iterator[tuple[str, frozenset[Shape]]]:
    for name, value in shape.items:
        if isinstance(value, Selected):
            yield from _nested(table, value)
        elif isinstance(value, Many):
            path = path_to(name, value)
            last = table.follow(path[:-1])
            child = last.children.get(path[-1]) if last is not None else None
            if child is None:
                continue
            inner = table.tables[child.table]
            yield inner.name, frozenset(_fixed(value.find.where) if value.find else ())
            yield from _nested(inner, opened(value.each, inner))


def _fixed(where: Any) -> Iterator[Shape]:
    """Yield the parts of a `where`, joined by `and`, that a client cannot choose."""
    if isinstance(where, Expression):
        for part in conjuncts(where.node):
            names = {node.name for node in nodes(part) if isinstance(node, Name)}
            if names.isdisjoint(_CHOSEN) and not _is_true(part):
                yield shape(part)


def _is_true(node: Node) -> bool:
    return isinstance(node, Literal) and node.value is True


def shape(node: Any) -> Shape:
    """Return a key that equal nodes share, wherever they stand."""
    if is_dataclass(node):
        values: Mapping[str, Any] = {
            field.name: getattr(node, field.name) for field in fields(node)
            if field.name not in {"start", "end", "name_start"}
        }  # fmt: skip
        return (type(node).__name__, *(shape(value) for value in values.values()))
    if isinstance(node, tuple | list):
        return tuple(shape(item) for item in node)
    return (type(node).__name__, str(node))
