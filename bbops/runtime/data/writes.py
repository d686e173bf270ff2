"""Inserts and updates whose columns are known only at run time: `data: ${ … }`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

from bbops.runtime.data.rows import DECODERS, ENCODERS, fit
from bbops.runtime.data.rules import RulePieces, write_all_allowed
from bbops.runtime.values.failures import WrongKind
from bbops.runtime.values.identifiers import quote
from bbops.runtime.values.operators import kind

Encoders = Mapping[str, Callable[[Any, str], Any]]
Decoders = Mapping[str, Callable[[Any], Any]]
_MAX_TEXTS = 256
_NONE: Mapping[str, tuple[str, str]] = {}


def conflict_clause(
    columns: Sequence[str], mode: str, only: str, given: Sequence[str], updated: Sequence[str],
    keys: str = "",
) -> str:  # fmt: skip
    """Return ON CONFLICT text: `update` sets every given column, and moves `updated` ones on.

    Args:
        only: of which rows the columns are unique, as SQL that begins with WHERE; empty of all.
        keys: what tells their values apart, as SQL; empty where the columns do.
    """
    if not columns:
        return ""
    listed = keys or ", ".join(f'"{name}"' for name in columns)
    head = f" ON CONFLICT ({listed}){only} DO "
    if mode != "update":
        return head + "NOTHING"
    kept = [name for name in given if name not in columns] or [columns[0]]
    kept += [name for name in updated if name not in kept]
    return head + "UPDATE SET " + ", ".join(f'"{name}" = excluded."{name}"' for name in kept)


class Writer(Protocol):
    """The part of the database door that an insert needs."""

    async def write(self, sql: str, parameters: Any) -> list[tuple[Any, ...]]: ...
    async def write_all(self, statements: Any) -> list[list[tuple[Any, ...]]]: ...


class Assigned(NamedTuple):
    """The SET clause of one update, and a value for each `?` in it."""

    sql: str
    values: list[Any]


class Setter:
    """Executor a map into the SET clause of an update."""

    __slots__ = ("columns", "longest", "table")
    encoders: ClassVar[Encoders] = ENCODERS

    def __init__(self, table: str, columns: Mapping[str, str], longest: Mapping[str, int]) -> None:
        """Args: `longest`: how many characters some of the columns take."""
        self.table, self.columns, self.longest = table, columns, longest

    def __call__(self, data: Any, automatic: Mapping[str, Any]) -> Assigned:
        """Return the clause for `data`; `automatic` fills in what it leaves out.

        Raises:
            FlowError: it is no map, or has a key that is no column.
        """
        values = _encoded(self.encoders, self.table, self.columns, data, automatic)
        _fit(values, self.longest)
        sql = ", ".join([f'"{name}" = ?' for name in values])
        first = next(iter(self.columns))
        return Assigned(sql or f'"{first}" = "{first}"', list(values.values()))


class Inserter:
    """Executor a map, or a list of maps, into inserts of one transaction."""

    __slots__ = (
        "cells", "columns", "conflict", "keys", "longest", "moved", "returned", "table", "texts",
        "updated",
    )  # fmt: skip
    encoders: ClassVar[Encoders] = ENCODERS
    decoders: ClassVar[Decoders] = DECODERS

    def __init__(
        self,
        table: str,
        columns: Mapping[str, str],
        conflict_columns: Sequence[str],
        mode: str,
        updated: Sequence[str],
        moved: Mapping[str, str],
        longest: Mapping[str, int],
        only: str = "",
        computed: Mapping[str, tuple[str, str]] = _NONE,
        keys: str = "",
    ) -> None:
        """Take the columns with their types, what a conflict is and does, and `updated` ones.

        Args:
            only: of which rows the columns of a conflict are unique; see `conflict_clause`.
            computed: more columns of a row, each with its SQL and type.
            keys: as those of `conflict_clause`.
            moved: what RETURNING adds where a row brings a value for one of these columns.
            longest: how many characters some of the columns take.
        """
        self.longest = longest
        self.table, self.columns, self.updated, self.moved = table, columns, updated, moved
        self.conflict, self.keys = (conflict_columns, mode, only), keys
        types = {**columns, **{name: of for name, (_, of) in computed.items()}}
        self.cells = [(name, self.decoders.get(of)) for name, of in types.items()]
        self.returned = ", ".join([*map(quote, columns), *(sql for sql, _ in computed.values())])
        self.texts: dict[tuple[tuple[str, ...], tuple[str, ...]], str] = {}

    async def __call__(
        self, database: Writer, data: Any, fills: Callable[[], Mapping[str, Any]],
        pieces: RulePieces | None = None,
    ) -> Any:  # fmt: skip
        """Insert and return the row or the rows as stored; None for one that was ignored."""
        if pieces is not None:
            return await self.allowed(database, data, fills, pieces)
        if type(data) is not list:
            sql, values = self.statement(data, fills())
            return self.row(await database.write(sql, values))
        statements = [self.statement(row, fills()) for row in data]
        stored = await database.write_all(statements) if statements else []
        return [self.row(rows) for rows in stored]

    async def allowed(
        self, database: Writer, data: Any, fills: Callable[[], Mapping[str, Any]],
        pieces: RulePieces,
    ) -> Any:  # fmt: skip
        """Insert rows that a rule looks at."""
        rows = data if type(data) is list else [data]
        statements = [_ruled(*self.statement(row, fills()), pieces) for row in rows]
        if not statements:
            return []
        stored = await write_all_allowed(
            database, statements, updates=pieces.updates, checks=bool(pieces.after[0])
        )
        found = [self.row(one) for one in stored]
        return found if type(data) is list else found[0]

    def statement(self, data: Any, fills: Mapping[str, Any]) -> tuple[str, list[Any]]:
        values = _encoded(self.encoders, self.table, self.columns, data, fills)
        _fit(values, self.longest)
        names = tuple(values)
        given = tuple(name for name in names if name in data)
        text = self.texts.get((names, given))
        if text is None:
            text = self.text(names, given)
            if len(self.texts) < _MAX_TEXTS:
                self.texts[names, given] = text
        return text, list(values.values())

    def text(self, names: tuple[str, ...], given: tuple[str, ...]) -> str:
        listed = ", ".join(f'"{name}"' for name in names)
        values = f"({listed}) VALUES ({', '.join('?' * len(names))})" if names else "DEFAULT VALUES"
        moved = "".join(more for name, more in self.moved.items() if name in names)
        conflict = conflict_clause(*self.conflict, given, self.updated, self.keys)
        return f'INSERT INTO "{self.table}" {values}{conflict} RETURNING {self.returned}{moved}'

    def row(self, rows: list[tuple[Any, ...]]) -> dict[str, Any] | None:
        if not rows:
            return None
        return {
            name: value if decode is None else decode(value)
            for (name, decode), value in zip(self.cells, rows[0], strict=False)
        }


def _ruled(sql: str, values: Sequence[Any], pieces: RulePieces) -> tuple[str, list[Any]]:
    """Return an insert with what rules add to it."""
    before, existing, after = pieces.before, pieces.existing, pieces.after
    head, returning, tail = sql.rpartition(" RETURNING ")
    text = f"{before[0]}{head}{existing[0]}{returning}{tail}"
    text += f", {after[0]}" if after[0] else ""
    return text, [*before[1], *values, *existing[1], *after[1]]


def _encoded(
    encoders: Encoders,
    table: str,
    columns: Mapping[str, str],
    data: Any,
    automatic: Mapping[str, Any],
) -> dict[str, Any]:
    if type(data) is not dict:
        raise WrongKind(f"'data' needs a map of columns, got {kind(data)}")
    unknown = [name for name in data if name not in columns]
    if unknown:
        raise WrongKind(f"table '{table}' has no column '{unknown[0][:60]}'")
    whole = {**automatic, **data}
    return {
        name: encoders[of](whole[name], f"{table}.{name}")
        for name, of in columns.items()
        if name in whole
    }


def _fit(values: Mapping[str, Any], longest: Mapping[str, int]) -> None:
    for name, most in longest.items():
        fit(values.get(name), name, most)
