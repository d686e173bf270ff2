"""Say which stored values anybody may read that no public route gave before.

What a route gives away is found by the check itself: a column stands in an answer where the project
would be refused if that column were private. Which rows is told by what a `where` asks for beside
what the client may choose.
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
from bbops.language.sql.types import Table
from bbops.language.steps._select import opened, path_to
from bbops.language.steps._shape import Many, Selected
from bbops.language.steps.find import Find
from bbops.review.plan.finding import Finding, finding
from bbops.review.plan.pairs import Pairs, address, run_by, title

_CHOSEN: Final = frozenset({"params", "query", "input", "headers", "request"})
"""What a client may say as it likes: a condition on it keeps nobody from any row."""

_LOOKED: Final = 20
"""For how many routes it is looked which columns of a table they give; for more, which tables."""

_SHOWN: Final = 5

Shape = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Given:
    """What one route gives of one table to whoever asks.

    Attributes:
        columns: those that stand in its answers.
        rows: for each `find`, the conditions that the client cannot choose.
    """

    table: str
    columns: frozenset[str]
    rows: tuple[frozenset[Shape], ...]


def find_opened(pairs: Pairs) -> Iterator[Finding]:
    """Yield the columns and rows that a public route gives, and none gave before."""
    open_now = [one for one in pairs.head.routes if one.authentication in OPEN]
    was = {address(one): one for one in pairs.base.routes if one.authentication in OPEN}
    same = {new.name for old, new in pairs.both("tables") if old.blob == new.blob}
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
    before = [given for one in was.values() for given in base.of(one)]
    for route, given, old in now:
        yield from _compare(pairs, route, given, [one for one in before if one.table == old])


def _is_as_before(pairs: Pairs, same: AbstractSet[str], base: Route | None, head: Route) -> bool:
    """Return whether a route runs the same functions on the same tables, which are `same`."""
    if base is None:
        return False
    run = run_by(pairs.head, head)
    was = [pairs.base.functions[one].blob for one in run_by(pairs.base, base)]
    if was != [pairs.head.functions[one].blob for one in run]:
        return False
    return _tables(pairs.head, run) <= same


def _tables(project: CheckedProject, functions: Iterable[str]) -> set[str]:
    """Return the tables that functions may read of."""
    flows = map(project.flows.of, functions)
    return {name for one in flows for kind, name in one.reads if kind == "table"}


def _compare(pairs: Pairs, route: Route, given: Given, known: Sequence[Given]) -> Iterator[Finding]:
    place = route.code_place
    had = {column for one in known for column in one.columns}
    renamed = pairs.head.tables[given.table].model.columns
    new = sorted(one for one in given.columns if (renamed[one].renamed_from or one) not in had)
    if new:
        names = ", ".join(f"'{one}'" for one in new[:_SHOWN])
        more = f" and {len(new) - _SHOWN} more" if len(new) > _SHOWN else ""
        yield _tell(route, f"gives anybody {names}{more} of table '{given.table}'", place)
    elif not all(_is_within(one, known) for one in given.rows):
        yield _tell(route, f"gives anybody rows of table '{given.table}'", place)


def _tell(route: Route, what: str, place: Place) -> Finding:
    return finding("rows-opened", title(route), f"{what}, which no public route did before", place)


def _is_within(asked: frozenset[Shape], known: Iterable[Given]) -> bool:
    """Return whether some public `find` of before gave all rows that these conditions let by."""
    return any(conditions <= asked for one in known for conditions in one.rows)


class _Giving:
    """What the routes of one project give of some tables; each check is made once."""

    def __init__(
        self, project: CheckedProject, of: Collection[str], *, are_many: bool = False
    ) -> None:
        """`are_many` looks at tables as a whole."""
        self._project, self._of, self._are_many = project, of, are_many
        self._known: dict[tuple[str, ...], list[Given]] = {}

    def of(self, route: Route) -> list[Given]:
        """Return what a route gives of each table that stands in its answers."""
        functions = run_by(self._project, route)
        if functions not in self._known:
            self._known[functions] = list(self._find(functions))
        return self._known[functions]

    def _find(self, functions: tuple[str, ...]) -> Iterator[Given]:
        for table in sorted(_tables(self._project, functions).intersection(self._of)):
            every = frozenset(
                name for name, column in self._project.tables[table].model.columns.items()
                if not column.private
            )  # fmt: skip
            if not self._gives(functions, table, every):
                continue
            columns = every if self._are_many else frozenset(
                one for one in every if self._gives(functions, table, {one})
            )  # fmt: skip
            yield Given(table, columns, tuple(self._rows(functions, table)))

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
        """Yield the conditions of each `find` of a table; none where it is read in another way."""
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


def _nested(table: Table, shape: Selected) -> Iterator[tuple[str, frozenset[Shape]]]:
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
            names = {one.name for one in nodes(part) if isinstance(one, Name)}
            if names.isdisjoint(_CHOSEN) and not _is_true(part):
                yield shape(part)


def _is_true(node: Node) -> bool:
    return isinstance(node, Literal) and node.value is True


def shape(node: Any) -> Shape:
    """Return what two nodes share that say the same, wherever they stand."""
    if is_dataclass(node):
        values: Mapping[str, Any] = {
            one.name: getattr(node, one.name) for one in fields(node)
            if one.name not in {"start", "end", "name_start"}
        }  # fmt: skip
        return (type(node).__name__, *(shape(one) for one in values.values()))
    if isinstance(node, tuple | list):
        return tuple(shape(one) for one in node)
    return (type(node).__name__, str(node))
