"""Random tables with rows, and random queries on them whose result plain Python knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cmp_to_key
from random import Random
from typing import Any

Row = dict[str, Any]
Rows = Sequence[Row]
Reads = Callable[[Rows], Any]
"""The value of a part of a query, for a row with those around it: the innermost one first."""

VALUES: dict[str, list[Any]] = {
    "integer": [-3, 0, 1, 7, 2**62],
    "number": [0.1, -2.5, 3.0, 1e300],
    "string": ["", "a", "b", "Z", "é", "'\"", "日本\n"],
    "boolean": [True, False],
    "decimal": ["1.0", "1.00", "-2.5", "10"],
    "datetime": ["2026-01-01T00:00:00Z", "1999-12-31T23:59:59.000001Z"],
    "json": [{"a": [1, None]}, [True], "text", 5],
    "uuid": ["00000000-0000-4000-8000-00000000000a"],
}
ORDERED = frozenset(VALUES) - {"json", "boolean"}


@dataclass(frozen=True)
class Link:
    """A foreign key: `name` is the relation, `reverse` what leads back."""

    name: str
    to: Made
    nullable: bool
    reverse: str

    @property
    def column(self) -> str:
        return f"{self.name}_id"


@dataclass
class Made:
    """A table with its rows."""

    name: str
    columns: dict[str, tuple[str, bool]] = field(default_factory=dict)
    links: dict[str, Link] = field(default_factory=dict)
    many: dict[str, tuple[Made, str]] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)

    def by_id(self, id_: int | None) -> Row | None:
        return None if id_ is None else self.rows[id_ - 1]

    def yaml(self) -> str:
        lines = ["columns:", "  id: { type: integer, primaryKey: true, auto: increment }"]
        lines += [f"  {name}: {{ type: {kind}, nullable: {str(nullable).lower()} }}"
                  for name, (kind, nullable) in self.columns.items()]  # fmt: skip
        for link in self.links.values():
            lines.append(
                f"  {link.column}: {{ type: integer, nullable: {str(link.nullable).lower()},"
                f" references: {link.to.name}.id, reverse: {link.reverse} }}"
            )
        return "\n".join(lines) + "\n"


def make_tables(random: Random) -> list[Made]:
    """Return two to four tables with rows; links go to tables before, or to the table itself."""
    tables: list[Made] = []
    for at in range(random.randint(2, 4)):
        table = Made(f"t{at}")
        for number in range(random.randint(1, 4)):
            own = random.choice(["c", f"c{at}x"])  # some names are in several tables
            kind = random.choice([*VALUES])
            table.columns[f"{own}{number}"] = kind, random.random() < 0.6
        for number, to in enumerate(random.choices([*tables, table], k=random.randint(0, 2))):
            nullable = to is table or random.random() < 0.5
            link = Link(f"r{at}{number}", to, nullable, f"many{at}{number}")
            table.links[link.name] = link
            to.many[link.reverse] = table, link.column
        table.rows = [_row(random, table, id_) for id_ in range(1, random.randint(1, 9))]
        tables.append(_without_missing(table))
    return tables


def _row(random: Random, table: Made, id_: int) -> Row:
    row: Row = {"id": id_}
    for name, (kind, nullable) in table.columns.items():
        row[name] = None if nullable and random.random() < 0.3 else random.choice(VALUES[kind])
    for link in table.links.values():
        ids = [one["id"] for one in link.to.rows] if link.to is not table else [*range(1, id_)]
        is_null = link.nullable and (not ids or random.random() < 0.3)
        row[link.column] = None if is_null else random.choice(ids or [0])
    return row


def _without_missing(table: Made) -> Made:
    """A row cannot refer to a table without rows; then this one has none either."""
    if any(not link.nullable and not link.to.rows for link in table.links.values()):
        table.rows = []
    return table


@dataclass(frozen=True)
class Path:
    """A column, or one that relations lead to."""

    text: str
    kind: str
    nullable: bool
    value: Callable[[Row], Any]
    links: tuple[Link, ...] = ()


def paths(table: Made, depth: int = 2) -> Iterator[Path]:
    """Yield everything of a row that has a value."""
    for name, (kind, nullable) in {"id": ("integer", False), **table.columns}.items():
        yield Path(name, kind, nullable, lambda row, name=name: row[name])
    for link in table.links.values() if depth else ():
        yield Path(link.column, "integer", link.nullable, lambda row, of=link: row[of.column])
        for path in paths(link.to, depth - 1):
            yield Path(
                f"{link.name}.{path.text}", path.kind, path.nullable or link.nullable,
                lambda row, of=link, path=path: _through(row, of, path), (link, *path.links),
            )  # fmt: skip


def _through(row: Row, link: Link, path: Path) -> Any:
    target = link.to.by_id(row[link.column])
    return None if target is None else path.value(target)


def comparable(kind: str, value: Any) -> Any:
    """Return a value as it is compared."""
    return Decimal(value) if kind == "decimal" and value is not None else value


class Query:
    """Draws the parts of a query on one table."""

    def __init__(self, random: Random, tables: Sequence[Made]) -> None:
        """Args: `tables` are those whose names may be read: the innermost one first."""
        self.random, self.tables, self.table = random, tables, tables[0]

    def within(self, table: Made) -> Query:
        return Query(self.random, (table, *self.tables))

    # ---- values
    def path(self) -> tuple[Path, Reads]:
        """Return a path of the innermost row, or of one around it that has no name of it."""
        choices = [(path, 0) for path in paths(self.table)]
        taken = {*self.table.columns, *self.table.links, *self.table.many, "id"}
        taken |= {link.column for link in self.table.links.values()}
        for depth, table in enumerate(self.tables[1:], 1):
            choices += [(path, depth) for path in paths(table, 1)
                        if path.text.partition(".")[0] not in taken]  # fmt: skip
            taken |= {*table.columns, *table.links, *table.many}
            taken |= {link.column for link in table.links.values()}
        path, depth = self.random.choice(choices)
        return path, lambda rows: path.value(rows[depth])

    def related(self) -> tuple[str, Made, Callable[[Rows], list[Rows]]] | None:
        """Return a relation to many rows, and what gives these rows."""
        if not self.table.many:
            return None
        name = self.random.choice([*self.table.many])
        table, column = self.table.many[name]

        def rows_of(rows: Rows) -> list[Rows]:
            return [(one, *rows) for one in table.rows if one[column] == rows[0]["id"]]

        return name, table, rows_of

    # ---- conditions
    def condition(self, depth: int = 2) -> tuple[str, Reads]:
        kind = self.random.choice(["compare", "compare", "null", "and", "or", "not", "related"])
        if depth and kind in {"and", "or"}:
            left, right = self.condition(depth - 1), self.condition(depth - 1)
            return f"({left[0]} {kind} {right[0]})", (
                (lambda rows: left[1](rows) and right[1](rows)) if kind == "and"
                else lambda rows: left[1](rows) or right[1](rows)
            )  # fmt: skip
        if depth and kind == "not":
            text, value = self.condition(depth - 1)
            return f"not ({text})", lambda rows: not value(rows)
        if depth and kind == "related" and (related := self.related()):
            return self.about(*related, depth)
        return self.compare(is_null=kind == "null")

    def compare(self, *, is_null: bool) -> tuple[str, Reads]:
        path, value = self.path()
        if is_null or path.kind in {"json", "datetime"}:
            return f"{path.text} != null", lambda rows: value(rows) is not None
        constant = self.random.choice(VALUES[path.kind] if path.kind != "decimal" else [1, -2.5])
        kind = path.kind
        wanted = Decimal(str(constant)) if kind == "decimal" else constant
        written = _written(constant)
        if self.random.random() < 0.5 or kind not in ORDERED:
            return f"{path.text} == {written}", (
                lambda rows: comparable(kind, value(rows)) == wanted
            )
        guard = f"{path.text} != null and " if path.nullable else ""
        return f"({guard}{path.text} > {written})", (
            lambda rows: value(rows) is not None and comparable(kind, value(rows)) > wanted
        )

    def about(
        self, name: str, table: Made, rows_of: Callable[[Rows], list[Rows]], depth: int
    ) -> tuple[str, Reads]:
        """Return a condition about related rows."""
        inner = self.within(table)
        text, holds = inner.condition(depth - 1) if self.random.random() < 0.6 else ("", bool)
        more = f", {text}" if text else ""

        def found(rows: Rows) -> list[Rows]:
            return [one for one in rows_of(rows) if holds(one)]

        kind = self.random.choice(["exists", "count", "in"])
        if kind == "exists":
            return f"exists({name}{more})", lambda rows: bool(found(rows))
        if kind == "count":
            return f"count({name}{more}) > 1", lambda rows: len(found(rows)) > 1
        path, value = inner.path()
        if path.kind in {"json", "datetime", "decimal"}:
            return f"not exists({name}{more})", lambda rows: not found(rows)
        wanted = self.random.choice(VALUES[path.kind])
        return f"{_written(wanted)} in list({name}, {path.text}{more})", (
            lambda rows: any(value(one) == wanted for one in found(rows))
        )

    # ---- select
    def shape(self, depth: int = 2) -> tuple[dict[str, Any], Reads]:
        """Return a map of `select`, and what it gives of a row."""
        parts: dict[str, tuple[Any, Reads]] = {}
        for at in range(self.random.randint(1, 4)):
            kind = self.random.choice(["path", "path", "map", "count", "sum", "list", "rows"])
            related = self.related()
            if kind == "map" and self.table.links:
                parts[f"m{at}"] = self.map()
            elif kind in {"count", "sum", "list"} and related:
                parts[f"v{at}"] = self.computed(kind, *related)
            elif kind == "rows" and related and depth:
                name, table, rows_of = related
                each, value = self.within(table).shape(depth - 1)
                parts[name] = (
                    [each],
                    lambda rows, of=rows_of, value=value: [value(one) for one in of(rows)],
                )
            else:
                path, value = self.path()
                parts[f"p{at}"] = path.text, value
        return {name: text for name, (text, _) in parts.items()}, (
            lambda rows: {name: value(rows) for name, (_, value) in parts.items()}
        )

    def map(self) -> tuple[dict[str, str], Reads]:
        """Return a map whose values all come through one relation."""
        link = self.random.choice([*self.table.links.values()])
        chosen = [path for path in paths(self.table) if path.links == (link,)]
        chosen = self.random.sample(chosen, k=min(2, len(chosen)))

        def value(rows: Rows) -> Row | None:
            if rows[0][link.column] is None:
                return None
            return {f"x{at}": path.value(rows[0]) for at, path in enumerate(chosen)}

        return {f"x{at}": path.text for at, path in enumerate(chosen)}, value

    def computed(
        self, kind: str, name: str, table: Made, rows_of: Callable[[Rows], list[Rows]]
    ) -> tuple[str, Reads]:
        inner = self.within(table)
        text, holds = inner.condition(1) if self.random.random() < 0.5 else ("", bool)
        more = f", {text}" if text else ""

        def found(rows: Rows) -> list[Rows]:
            return [one for one in rows_of(rows) if holds(one)]

        path, value = inner.path()
        if kind == "list":
            return f"list({name}, {path.text}{more})", lambda rows: [
                value(one) for one in found(rows)
            ]
        if kind == "sum" and path.kind == "decimal":
            return f"sum({name}, {path.text}{more})", lambda rows: _total(
                value(one) for one in found(rows)
            )
        if kind == "sum":
            return f"sum({name}, id{more})", lambda rows: sum(one[0]["id"] for one in found(rows))
        return f"count({name}{more})", lambda rows: len(found(rows))

    # ---- order
    def order(self) -> tuple[list[str], list[Row]]:
        """Return an order, and the table's rows in it."""
        keys = [path for path in paths(self.table) if path.kind != "json"]
        keys = self.random.sample(keys, k=self.random.randint(0, min(3, len(keys))))
        ways = [self.random.choice(["asc", "desc"]) for _ in keys]
        parts = [(path.kind, path.value, way) for path, way in zip(keys, ways, strict=True)]
        parts.append(("integer", lambda row: row["id"], ways[-1] if ways else "asc"))

        def compare(left: Row, right: Row) -> int:
            for kind, value, way in parts:
                found = _compare(comparable(kind, value(left)), comparable(kind, value(right)), way)
                if found:
                    return found
            return 0

        texts = [f"{path.text}.{way}" for path, way in zip(keys, ways, strict=True)]
        return texts, sorted(self.table.rows, key=cmp_to_key(compare))


def _compare(left: Any, right: Any, way: str) -> int:
    if left is None or right is None:  # null is last, whatever the direction
        return (left is None) - (right is None)
    found = (left > right) - (left < right)
    return -found if way == "desc" else found


def _total(values: Iterator[Any]) -> str:
    return format(sum((Decimal(one) for one in values if one is not None), Decimal(0)), "f")


def _written(constant: Any) -> str:
    if isinstance(constant, str):
        escaped = constant.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
        return f"'{escaped}'"
    return str(constant).lower() if isinstance(constant, bool) else repr(constant)
