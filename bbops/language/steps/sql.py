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
from bbops.language.expressions.values import Expression, Value, ValueField
from bbops.language.sql.own import READS, WRITES, OwnStatement, read_statement
from bbops.language.sql.own_rules import behind_rules, names_table, past_rules
from bbops.language.sql.types import SqlColumn, SqlTable
from bbops.language.steps._base import Checking, Example, Static, Step, mark_of
from bbops.language.steps._flow import Flow
from bbops.language.steps._own_statement import OwnColumnTypes, OwnTexts, cast, kind_of, row_of
from bbops.language.steps._ruled import Reasons

_ADD_MODE = Hint("add 'mode: write'", SetEntry("mode", "write"))


class SqlParameters(Model):
    """One statement; `:name` in it is a value of `params`."""

    statement: OwnTexts
    params: dict[VariableName, ValueField] = {}
    columns: OwnColumnTypes = {}
    mode: Literal["read", "write"] = "read"
    one: bool | Literal["required"] = False
    unscoped: Reasons = {}
    bypass_access: Reasons = {}


class Sql(Step):
    """Give rows as they are stored, with `one` the first; `{count}` where none are returned.

    - One statement, without `${ }`: values travel as `:name` parameters; lists and maps arrive as
      JSON text.
    - Parameters have the types of their expressions: on PostgreSQL `:since` of a datetime is
      `$1::timestamptz`. A value of json needs a conversion: `${ vars.body.x | toNumber }`.
    - `statement: { sqlite: …, postgres: … }` is a statement for each database.
    - `columns: { day: date, revenue: decimal? }` says the columns that it gives, with their types;
      `?` is for null. Without it rows are as they are stored: booleans as 0 and 1, times as text.
    - It reads and writes the project's tables, and nothing else: not the database's catalog, not
      other files or servers. A value in it has at most 4,000,000 bytes, the pattern of a `LIKE`
      128, all rows that it gives 64 MiB.
    - Of a table with rules it sees the visible rows, under the table's name. Such a statement names
      no table behind a dot, and has no comments, backslashes or backquotes: an ambiguous statement
      is refused. A statement that writes names no table with rules at all.
    - It ends after 10 s at the latest, and is then answered with 503 `statementTimeout`.
    - `bbops validate` has the statement compiled for the declared tables, by SQLite, unless
      `database.engine` of the project is `postgres`.
    """

    title: ClassVar[str] = "Database Query: sql"
    fits_transaction: ClassVar[bool] = True
    keeps_rules: ClassVar[bool] = True
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
            "Rows with types",
            "- sql:\n"
            "    statement: SELECT done, count(*) AS n FROM notes GROUP BY done ORDER BY done\n"
            "    columns: { done: boolean, n: integer }\n"
            "  as: found\n"
            "- return: { value: '${ vars.found }' }",
            value=[{"done": False, "n": 2}, {"done": True, "n": 1}],
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
        """The parsed statement; SQLite's, if each database has its own."""
        return self.own_on("sqlite")

    def own_on(self, database: str) -> OwnStatement:
        """Return the parsed statement of a database."""
        texts = self.sql.statement
        return read_statement(texts.postgres if database == "postgres" else texts.sqlite)

    def check(self, at: Checking) -> Type:
        given, named = self.sql.params, set[str]()
        types = {name: at.value(value) for name, value in given.items()}
        for text in self.sql.statement.every.values():
            own = read_statement(text)
            named.update(own.names)
            self.check_statement(at, own, text)
            for name in dict.fromkeys(own.names):
                if name not in given:
                    message = f"'params' has no value for ':{name}'"
                    at.report(mark_of(text), "sql-parameter", message, suggest(name, given))
        for name, value in given.items():
            place = self.place("params") or mark_of(value)
            if name not in named:
                at.report(place, "sql-parameter", f"the statement has no ':{name}'")
            elif types[name].kind == "any" and not _is_wrong(at, value):
                at.report(
                    mark_of(value) or place, "sql-parameter",
                    f"':{name}' may be of any type, and a parameter has one",
                    "add '| toString', '| toNumber' or another conversion",
                )  # fmt: skip
        return self.result(at, is_private=any(of.hides for of in types.values()))

    def check_statement(self, at: Checking, own: OwnStatement, text: Static) -> None:
        verbs = WRITES if self.sql.mode == "write" else READS
        if self.sql.columns and not own.problem and not own.gives_rows:
            message = "the statement gives no rows, so 'columns' has nothing to describe"
            at.report(self.place("columns"), "sql-columns", message, "add 'RETURNING'")
        if own.problem:
            at.report(mark_of(text), "sql", own.problem)
        elif own.verb not in verbs:
            listed = ", ".join(sorted(verbs))
            hint = _ADD_MODE if own.verb in WRITES else ""
            message = f"with 'mode: {self.sql.mode}' a statement must begin with one of {listed}"
            at.report(mark_of(text), "sql", message, hint)

    def check_rules(self, at: Checking, table: SqlTable, text: Static) -> None:
        """Refuse a statement about a table with rules that writes, or might see hidden rows."""
        needed = [key for key in ("bypassAccess", "unscoped") if table.has(key)]
        why = ""
        if needed and self.sql.mode == "write":
            why = "statements that write do not keep to them"
        elif table.hides:
            why = past_rules(text, table.name)
            at.keep_rules(table, "read")
        if why:
            lines = " and ".join(f"'{key}: {{ {table.name}: why }}'" for key in needed)
            at.report(
                mark_of(text), "sql-past-rules",
                f"the statement would look past the rules of table '{table.name}': {why}",
                f"use 'find' or another step, or add {lines}",
            )  # fmt: skip

    def result(self, at: Checking, *, is_private: bool) -> Type:
        gives_rows = True
        for text in self.sql.statement.every.values():
            own = read_statement(text)
            is_private |= _reads_private(own, at.tables)
            gives_rows &= own.gives_rows
            for name in [table for table in at.tables if names_table(text, table)]:
                at.notes.reads.add(("table", name))
                at.used.add(name)
                self.check_rules(at, at.tables[name], text)
        row = PRIVATE if is_private else ANY
        if self.sql.columns:
            row = row_of(self.sql.columns, private=is_private)
        if self.sql.one == "required" or not gives_rows:
            return row
        return row.or_null() if self.sql.one else list_of(row)

    def code(self, flow: Flow) -> list[ast.stmt]:
        kinds = {
            str(name): kind_of(value, flow.emitter.scope) for name, value in self.sql.params.items()
        }
        own, out = cast(self.own_on(flow.dialect.name), kinds, flow.dialect), []
        held = {name: flow.temporary() for name in dict.fromkeys(own.names)}
        for name, temporary in held.items():
            out += flow.run(
                f"{temporary} = bind(value)",
                bind=f"{flow.dialect.rows}:bind_own",
                value=flow.value(self.sql.params[name]),
            )
        picked, sql, parameters = self.picked(flow, own, held)
        out += picked
        rows = flow.expression(
            "await host.database.rows(sql, parameters, writes=writes)",
            host=flow.root("host"),
            sql=sql,
            parameters=parameters,
            writes=ast.Constant(self.sql.mode == "write"),
        )
        if self.sql.columns:
            types = {str(name): str(of) for name, of in self.sql.columns.items()}
            read = flow.constant("bbops.runtime.data.own_columns:OwnColumns", types)
            rows = flow.expression("read(rows)", read=read, rows=rows)
        elif flow.dialect.own_rows:
            rows = flow.expression(
                "own_rows(rows, exact=exact)", own_rows=flow.row_code(flow.dialect.own_rows),
                rows=rows, exact=ast.Constant(_names_decimal(own, flow.tables)),
            )  # fmt: skip
        if own.gives_rows and not self.sql.one:
            charged = flow.expression("charged(rows)", charged=flow.row_code("charged"), rows=rows)
            return out + flow.store(self.as_, charged)
        return out + flow.compute(
            self.as_,
            f"first(rows, {self.sql.one == 'required'})",
            first=flow.row_code("first"),
            rows=rows,
        )

    def ruled(self, tables: Mapping[str, SqlTable], database: str) -> list[str]:
        """Return the tables with rules whose visible rows its statement reads."""
        text = self.sql.statement.every.get("") or getattr(self.sql.statement, database)
        text = text if self.sql.mode == "read" else ""
        return [name for name, table in tables.items() if table.hides and names_table(text, name)]

    def picked(
        self, flow: Flow, own: OwnStatement, held: Mapping[str, str]
    ) -> tuple[list[ast.stmt], ast.expr, ast.expr]:
        """Return the code that picks the text, and the code of the text and of its parameters."""
        ruled = [flow.tables[name] for name in self.ruled(flow.tables, flow.dialect.name)]
        if not ruled:
            statement = flow.constant("bbops.runtime.data.statements:Statement", own.sql, 0)
            parameters = ast.Tuple([load(held[name]) for name in own.names], ast.Load())
            return [], flow.expression("statement.sql", statement=statement), parameters
        query, given = (
            flow.query(ruled[0].name),
            {name: load(variable) for name, variable in held.items()},
        )
        code, chosen, taken = flow.rendered(query, behind_rules(query, ruled, own, given))
        return code, load(chosen), load(taken)


def _is_wrong(at: Checking, value: Value) -> bool:
    """Return whether a value has a reported mistake."""
    return isinstance(value, Expression) and not at.is_sound(value)


PRIVATE = replace(ANY, private=True)


def _names_decimal(own: OwnStatement, tables: Mapping[str, SqlTable]) -> bool:
    """Return whether a decimal column may be in its result: by name, or by `*`."""
    return any(column.type == "decimal" for column in _read(own, tables))


def _reads_private(own: OwnStatement, tables: Mapping[str, SqlTable]) -> bool:
    """Return whether a private column may be in its result: by name, or by `*`."""
    return any(column.private for column in _read(own, tables))


def _read(own: OwnStatement, tables: Mapping[str, SqlTable]) -> Iterator[SqlColumn]:
    words = set(own.words)
    everything = re.search(r"(?<!\()\*", re.sub(r"\s", "", own.sql)) is not None
    for table in tables.values():
        if table.name in words:
            yield from (
                column for column in table.columns.values() if everything or column.name in words
            )
