"""insert: add a row, or a list of rows."""

from __future__ import annotations

import ast
from typing import Annotated, ClassVar

from pydantic import Field

from bbops.base.model import Model
from bbops.language.expressions.types import ANY, Type, concealed, list_of
from bbops.language.expressions.values import (
    Constant,
    Expression,
    ListValue,
    MapValue,
    Value,
    ValueField,
)
from bbops.language.sql.checks import kept_sql
from bbops.language.sql.computed import returned_columns
from bbops.language.sql.dialect import Template, commas, seq
from bbops.language.sql.query import Query
from bbops.language.sql.ruled import allowed, seen, visible
from bbops.language.sql.types import SqlTable
from bbops.language.steps._base import Checking, Example, Static, Step, mark_of
from bbops.language.steps._flow import Flow
from bbops.language.steps._query import (  # fmt: skip
    as_value,
    assignments,
    automatic,
    check_columns,
    check_data,
    filled,
    first_row,
)
from bbops.language.steps._ruled import Reasons
from bbops.language.steps._written import bare_columns, check_written, is_looked_at
from bbops.runtime.data.writes import conflict_clause
from bbops.runtime.values.identifiers import quote


class OnConflict(Model):
    """The action for a row whose `columns` exist already."""

    columns: list[Static] = Field(min_length=1)
    do: Annotated[ValueField, Field()]


class InsertParameters(Model):
    """`data` is a map of columns, or one `${ }` that gives a map or a list of maps."""

    table: Static
    data: ValueField
    on_conflict: OnConflict | None = None
    unscoped: Reasons = {}
    bypass_access: Reasons = {}


class Insert(Step):
    """Give the row as stored; for a list the list; null for a row that was ignored.

    - Columns that take no null and have no default must be given.
    - A row that breaks a unique or foreign key is answered with 409, naming the columns, unless
      `try` catches it or `onConflict` says what happens.
    - `do` is `ignore` (null for a skipped row), `update` (every given column but `columns`), or a
      map of columns, in which `row.<column>` is the stored value.
    """

    title: ClassVar[str] = "Database Query: insert"
    writes: ClassVar[bool] = True
    fits_transaction: ClassVar[bool] = True
    keeps_rules: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Add a note",
            "- insert:\n"
            "    table: notes\n"
            "    data: { title: four }\n"
            "  as: note\n"
            "- return:\n    value: ${ vars.note }",
            value={"id": 4, "title": "four", "done": False},
        ),
        Example(
            "Add, or change what is there",
            "- insert:\n"
            "    table: notes\n"
            "    data: { id: 1, title: uno }\n"
            "    onConflict:\n"
            "      columns: [id]\n"
            "      do:\n"
            "        title: ${ row.title + '!' }\n"
            "  as: note\n"
            "- return:\n    value: ${ vars.note.title }",
            value="one!",
        ),
    )

    insert: InsertParameters

    def check(self, at: Checking) -> Type:
        insert = self.insert
        conflict = insert.on_conflict
        updates = conflict is not None and _does(conflict) != "ignore"
        table = at.table(insert.table, "insert", *(["update"] if updates else []))
        if table is None:
            return ANY
        check_written(at, table, insert.data, *(["insert", "update"] if updates else ["insert"]))
        of = ANY
        for data in insert.data.items if isinstance(insert.data, ListValue) else (insert.data,):
            of = check_data(at, table, data, row=False, place=self.place("data"))
            self.check_missing(at, table, data, of)
        if insert.on_conflict is not None:
            self.check_conflict(at, table, insert.on_conflict)
        row = table.row_type()
        if insert.on_conflict is not None and _does(insert.on_conflict) == "ignore":
            row = row.or_null()
        if isinstance(insert.data, ListValue):
            return list_of(row)
        if isinstance(insert.data, Expression):
            return {"list": list_of(row), "map": row}.get(of.kind, _hidden(ANY, table))
        return row

    def check_missing(self, at: Checking, table: SqlTable, data: Value, of: Type) -> None:
        row = of.item if of.kind == "list" else of
        if row is None or row.fields is None or row.rest is not None:
            return
        given = {name for name, field in row.fields.items() if not field.absent}
        if not row.fields.keys() <= table.columns.keys():
            return  # one of them may be the misspelt one
        missing = [c.name for c in table.columns.values() if c.is_required and c.name not in given]
        for name in missing:
            hint = f"'{name}' may be left out of this map" if name in row.fields else ""
            at.report(
                mark_of(data) or self.place("data"), "missing-column",
                f"table '{table.name}' needs a value for '{name}'", hint,
            )  # fmt: skip

    def check_conflict(self, at: Checking, table: SqlTable, conflict: OnConflict) -> None:
        rules = table.rules
        is_one = rules is None or len(rules.of("insert", "update")) < 2
        if _does(conflict) != "ignore" and not is_one:
            at.report(
                self.place("onConflict"), "on-conflict",
                f"table '{table.name}' has one rule for 'insert' and another for 'update'",
                "give it one rule for 'write', or insert and update in steps of their own",
            )  # fmt: skip
        check_columns(at, table, conflict.columns)
        is_known = set(conflict.columns) <= set(table.columns)
        partly, names = table.partly_unique(conflict.columns), ", ".join(conflict.columns)
        if len(partly) > 1:
            at.report(
                self.place("onConflict"), "on-conflict", f"several indexes make '{names}' unique",
                f"keep one of them in tables/{table.name}.yaml, or one without 'where'",
            )  # fmt: skip
        elif is_known and not partly and frozenset(conflict.columns) not in table.uniques:
            at.report(
                self.place("onConflict"), "on-conflict", f"no constraint makes '{names}' is unique",
                f"'unique: true' for the column, or a unique index, in tables/{table.name}.yaml",
            )  # fmt: skip
        if isinstance(conflict.do, MapValue):
            if not isinstance(self.insert.data, MapValue):
                at.report(
                    conflict.do.mark, "on-conflict", "with a map in 'do', 'data' is a map too",
                    "list the columns of 'data' one by one",
                )  # fmt: skip
            check_data(at, table, conflict.do, row=True, place=self.place("onConflict"))
        elif _does(conflict) not in {"ignore", "update"}:
            at.report(
                getattr(conflict.do, "mark", None) or self.place("onConflict"), "on-conflict",
                "'do' is 'ignore', 'update' or a map of columns",
            )  # fmt: skip

    def code(self, flow: Flow) -> list[ast.stmt]:
        table, data = flow.tables[self.insert.table], self.insert.data
        if not isinstance(data, MapValue):
            return self.dynamic(flow, table)
        values = filled(flow, table, dict(data.items))
        query = flow.query(table.name, bare=False, writes=True)
        holes: list[Template] = [query.parameter(value) for value in values.values()]
        row = seq(f"({bare_columns(list(values))}) VALUES (", commas(holes), ")")
        returned: list[Template] = [
            seq(returned_columns(table, list(table.columns), flow.dialect),
                "".join(m for name, m in self.moved(flow, table).items() if name in values))
        ]  # fmt: skip
        conflict = seq(
            self.conflict(flow, query, table, list(dict(data.items))), self.existing(query, table)
        )
        after = self.after(query, table)
        template = seq(
            f"INSERT INTO {quote(table.name)} ", row if values else "DEFAULT VALUES", conflict,
            " RETURNING ", commas([*returned, after] if after else returned),
        )  # fmt: skip
        code, sql, parameters = flow.statement(query, template)
        host = flow.root("host")
        if after:
            write = flow.expression(
                f"await write_allowed(host.database, {sql}, {parameters})",
                write_allowed="bbops.runtime.data.rules:write_allowed", host=host,
            )  # fmt: skip
        else:
            write = flow.expression(f"await host.database.write({sql}, {parameters})", host=host)
        if self.updates_ruled(table):
            write = flow.expression(
                "updated(write)", updated="bbops.runtime.data.rules:updated", write=write
            )
        return code + first_row(flow, self.as_, flow.row(table.columns.values()), write, one=True)

    @property
    def updates(self) -> bool:
        """Whether an existing row may be updated."""
        conflict = self.insert.on_conflict
        return conflict is not None and _does(conflict) != "ignore"

    def updates_ruled(self, table: SqlTable) -> bool:
        """Whether the existing row may be protected from updates by a rule."""
        rules = table.rules
        return self.updates and rules is not None and bool(rules.hides or rules.of("update"))

    def existing(self, query: Query, table: SqlTable) -> Template:
        """Return the condition after ON CONFLICT of the existing rows that may be updated."""
        if not self.updates_ruled(table):
            return ""
        return seq(" WHERE ", seen(query, table, "update"))

    def after(self, query: Query, table: SqlTable) -> Template:
        """Return the last part of RETURNING: whether the row meets the rules; else nothing."""
        data = self.insert.data
        operations = ["insert", "update"] if self.updates else ["insert"]
        conflict = self.insert.on_conflict
        is_new = is_looked_at(table, data, "insert")
        is_old = conflict is not None and self.updates and is_looked_at(
            table, conflict.do if isinstance(conflict.do, MapValue) else data, "update"
        )  # fmt: skip
        if not (is_new or is_old):
            return ""
        found = allowed(query, table, *operations)
        return "" if found is None else as_value(found)

    def moved(self, flow: Flow, table: SqlTable) -> dict[str, str]:
        """Return the parts of RETURNING for rows with their own number in an automatic column."""
        counted = [name for name, column in table.columns.items() if column.auto == "increment"]
        return {name: flow.dialect.moves_on(table.name, name) for name in counted}

    def conflict(self, flow: Flow, query: Query, table: SqlTable, given: list[str]) -> Template:
        conflict = self.insert.on_conflict
        if conflict is None:
            return ""
        if isinstance(conflict.do, MapValue):
            only = self.only(flow, table)
            head = f" ON CONFLICT ({self.keys(flow, table)}){only} DO UPDATE SET "
            return seq(head, assignments(flow, query, table, conflict.do))
        mode = str(_does(conflict))
        updated = [name for name, column in table.columns.items() if column.auto == "updated"]
        return conflict_clause(
            conflict.columns, mode, self.only(flow, table), given, updated, self.keys(flow, table)
        )

    def keys(self, flow: Flow, table: SqlTable) -> str:
        """Return the index expressions of a conflict's columns, as SQL."""
        conflict = self.insert.on_conflict
        columns = [] if conflict is None else [str(name) for name in conflict.columns]
        return ", ".join(flow.dialect.unique_key(name, table.unique_type(name)) for name in columns)

    def only(self, flow: Flow, table: SqlTable) -> str:
        """Return the condition under which a conflict's columns are unique; empty for all rows."""
        conflict = self.insert.on_conflict
        for partial in table.partly_unique(conflict.columns) if conflict is not None else ():
            where = kept_sql(table.name, table.columns, partial.where, flow.dialect.kept)
            return f" WHERE ({where})"
        return ""

    def dynamic(self, flow: Flow, table: SqlTable) -> list[ast.stmt]:
        """`data: ${ … }`: the columns are known only at run time."""
        conflict = self.insert.on_conflict
        mode = str(_does(conflict)) if conflict else ""
        updated = [name for name, column in table.columns.items() if column.auto == "updated"]
        columns = {name: column.type for name, column in table.stored.columns.items()}
        computed = {
            name: (returned_columns(table, [name], flow.dialect), column.type)
            for name, column in table.columns.items() if column.computed is not None
        }  # fmt: skip
        makes = [name for name, column in table.columns.items() if column.auto != "increment"]
        fills = {n: v for n in makes if (v := automatic(flow, table.columns[n])) is not None}
        inserter = flow.constant(
            f"{flow.dialect.writes}:Inserter", table.name, columns,
            [str(name) for name in conflict.columns] if conflict else [], mode, updated,
            self.moved(flow, table), table.longest, self.only(flow, table),
            computed, self.keys(flow, table),
        )  # fmt: skip
        code, pieces = self.pieces(flow, table)
        return code + flow.compute(
            self.as_,
            "await inserter(host.database, data, fills, pieces)",
            pieces=pieces,
            inserter=inserter,
            host=flow.root("host"),
            data=flow.value(self.insert.data),
            fills=flow.expression(
                "lambda: FILLS",
                FILLS=ast.Dict([ast.Constant(name) for name in fills], list(fills.values())),
            ),
        )

    def pieces(self, flow: Flow, table: SqlTable) -> tuple[list[ast.stmt], ast.expr]:
        """Return the code of the parts that rules add to the statement; null without any."""
        query = flow.query(table.name, bare=False, writes=True)
        existing, after = self.existing(query, table), self.after(query, table)
        if not (existing or after):
            return [], ast.Constant(None)
        code, made = list[ast.stmt](), list[ast.expr]()
        for piece in (visible(query), existing, after):
            begin, sql, parameters = flow.rendered(query, piece)
            code += begin
            made.append(flow.expression(f"({sql}, {parameters})"))
        before, behind, last = made
        return code, flow.expression(
            "pieces(before, behind, last, updates)",
            pieces="bbops.runtime.data.rules:RulePieces", before=before, behind=behind, last=last,
            updates=ast.Constant(bool(existing)),
        )  # fmt: skip


def _does(conflict: OnConflict) -> object:
    """Return the word of `do`; None for a map."""
    return conflict.do.value if isinstance(conflict.do, Constant) else None


def _hidden(of: Type, table: SqlTable) -> Type:
    """Return the type of a row or of rows, which is private if a column is."""
    return concealed(of, by=table.column_types.values())
