"""sql: run a statement that the other database steps cannot express."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar, Literal

from bbops.base.diagnostics import Hint, SetEntry, suggest
from bbops.base.model import Model
from bbops.base.names import VariableName
from bbops.language.expressions.emit import load
from bbops.language.expressions.types import ANY, Type, list_of
from bbops.language.expressions.values import ValueField
from bbops.language.sql.own import READS, WRITES, OwnStatement, read_statement
from bbops.language.sql.types import Column, Table
from bbops.language.steps._base import Checking, Example, Static, Step, mark_of
from bbops.language.steps._flow import Flow

_ADD_MODE = Hint("add 'mode: write'", SetEntry("mode", "write"))


class SqlParameters(Model):
    """One statement; `:name` in it is a value of `params`."""

    statement: Static
    params: dict[VariableName, ValueField] = {}
    mode: Literal["read", "write"] = "read"
    one: bool | Literal["required"] = False


class Sql(Step):
    """Give rows as they are stored, with `one` the first; `{count}` where none are returned.

    - One statement, without `${ }`: values travel as `:name` parameters; lists and maps arrive as
      JSON text.
    - Rows are as they are stored: booleans as 0 and 1, times as text.
    - It reads and writes the project's tables, and nothing else: not the database's catalog, not
      other files or servers. A value in it has at most 4,000,000 bytes, the pattern of a `LIKE`
      128, all rows that it gives 64 MiB.
    - It ends after 10 s at the latest, and is then answered with 503 `statementTimeout`.
    - `bbops validate` has the statement compiled for the declared tables, by SQLite, unless
      `database.engine` of the project is `postgres`.
    """

    title: ClassVar[str] = "Database Query: sql"
    fits_transaction: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Count by a column",
            "- sql:\n"
            "    statement: SELECT done, count(*) AS n FROM notes WHERE id > :after GROUP BY done\n"
            "    params: { after: 0 }\n"
            "  as: found\n"
            "- return: { value: '${ vars.found }' }",
            value=[{"done": 0, "n": 2}, {"done": 1, "n": 1}],
        ),
        Example(
            "Write",
            "- sql:\n"
            "    statement: UPDATE notes SET done = NOT done WHERE id = :id RETURNING done\n"
            "    params: { id: 1 }\n"
            "    mode: write\n"
            "    one: required\n"
            "  as: note\n"
            "- return: { value: '${ vars.note.done }' }",
            value=1,
        ),
    )

    sql: SqlParameters

    @property
    def own(self) -> OwnStatement:
        """The statement, read."""
        return read_statement(self.sql.statement)

    def check(self, at: Checking) -> Type:
        own, given = self.own, self.sql.params
        types = [at.value(value) for value in given.values()]
        self.check_statement(at, own)
        for name in dict.fromkeys(own.names):
            if name not in given:
                message = f"'params' has no value for ':{name}'"
                at.report(
                    mark_of(self.sql.statement), "sql-parameter", message, suggest(name, given)
                )
        for name, value in given.items():
            if name not in own.names:
                place = self.place("params") or mark_of(value)
                at.report(place, "sql-parameter", f"the statement has no ':{name}'")
        return self.result(at, own, is_private=any(of.hides for of in types))

    def check_statement(self, at: Checking, own: OwnStatement) -> None:
        verbs = WRITES if self.sql.mode == "write" else READS
        if own.problem:
            at.report(mark_of(self.sql.statement), "sql", own.problem)
        elif own.verb not in verbs:
            listed = ", ".join(sorted(verbs))
            hint = _ADD_MODE if own.verb in WRITES else ""
            message = f"with 'mode: {self.sql.mode}' a statement must begin with one of {listed}"
            at.report(mark_of(self.sql.statement), "sql", message, hint)

    def result(self, at: Checking, own: OwnStatement, *, is_private: bool) -> Type:
        row = PRIVATE if is_private or _reads_private(own, at.tables) else ANY
        for name in at.tables:
            if name in own.words:
                at.notes.reads.add(("table", name))
        if self.sql.one == "required" or not own.gives_rows:
            return row
        return row.or_null() if self.sql.one else list_of(row)

    def code(self, flow: Flow) -> list[ast.stmt]:
        own, out = self.own, []
        held = {name: flow.temporary() for name in dict.fromkeys(own.names)}
        for name, temporary in held.items():
            out += flow.run(
                f"{temporary} = bind(value)",
                bind=f"{flow.dialect.own}:bind_own",
                value=flow.value(self.sql.params[name]),
            )
        rows = flow.expression(
            "await host.database.rows(statement.sql, parameters, writes=writes)",
            host=flow.root("host"),
            statement=flow.constant("bbops.runtime.data.statements:Statement", own.sql, 0),
            parameters=ast.Tuple([load(held[name]) for name in own.names], ast.Load()),
            writes=ast.Constant(self.sql.mode == "write"),
        )
        if flow.dialect.own_rows:
            rows = flow.expression(
                "own_rows(rows, exact=exact)", own_rows=flow.row_code(flow.dialect.own_rows),
                rows=rows, exact=ast.Constant(_names_decimal(own, flow.tables)),
            )  # fmt: skip
        if own.gives_rows and not self.sql.one:
            charged = flow.expression("charged(rows)", charged=flow.row_code("charged"), rows=rows)
            return out + flow.store(self.as_, charged)
        return out + flow.store(
            self.as_,
            flow.expression(
                f"first(rows, {self.sql.one == 'required'})",
                first=flow.row_code("first"),
                rows=rows,
            ),
        )


PRIVATE = replace(ANY, private=True)


def _names_decimal(own: OwnStatement, tables: Mapping[str, Table]) -> bool:
    """Return whether a decimal column may be among what it gives: by name, or by `*`."""
    return any(column.type == "decimal" for column in _read(own, tables))


def _reads_private(own: OwnStatement, tables: Mapping[str, Table]) -> bool:
    """Return whether a private column may be among what it gives: by name, or by `*`."""
    return any(column.private for column in _read(own, tables))


def _read(own: OwnStatement, tables: Mapping[str, Table]) -> Iterator[Column]:
    words = set(own.words)
    everything = re.search(r"(?<!\()\*", re.sub(r"\s", "", own.sql)) is not None
    for table in tables.values():
        if table.name in words:
            yield from (one for one in table.columns.values() if everything or one.name in words)
