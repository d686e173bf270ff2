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
from bbops.language.sql.query import Query
from bbops.language.sql.template import Template, commas, seq
from bbops.language.sql.types import Table
from bbops.language.steps._base import Checking, Example, Static, Step, mark_of
from bbops.language.steps._flow import Flow
from bbops.language.steps._query import (  # fmt: skip
    assignments,
    automatic,
    bare_columns,
    check_columns,
    check_data,
    filled,
    first_row,
)
from bbops.runtime.data.writes import conflict_clause
from bbops.runtime.values.identifiers import quote


class OnConflict(Model):
    """What happens to a row whose `columns` are there already."""

    columns: list[Static] = Field(min_length=1)
    do: Annotated[ValueField, Field()]


class InsertParameters(Model):
    """`data` is a map of columns, or one `${ }` that gives a map or a list of maps."""

    table: Static
    data: ValueField
    on_conflict: OnConflict | None = None


class Insert(Step):
    """Give the row as stored; for a list the list; null for a row that was ignored.

    - Columns that take no null and have no default must be given.
    - A row that breaks a unique or foreign key is answered with 409, naming the columns, unless
      `try` catches it or `onConflict` says what happens.
    - `do` is `ignore` (null for a skipped row), `update` (every given column but `columns`), or a
      map of columns, in which `row.<column>` is the stored value.
    """

    title: ClassVar[str] = "Database Query: insert"
    fits_transaction: ClassVar[bool] = True
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
        table = at.table(insert.table)
        if table is None:
            return ANY
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

    def check_missing(self, at: Checking, table: Table, data: Value, of: Type) -> None:
        row = of.item if of.kind == "list" else of
        if row is None or row.fields is None or row.rest is not None:
            return
        given = {name for name, one in row.fields.items() if not one.absent}
        if not row.fields.keys() <= table.columns.keys():
            return  # one of them may be the misspelt one
        missing = [c.name for c in table.columns.values() if c.is_required and c.name not in given]
        for name in missing:
            hint = f"'{name}' may be left out of this map" if name in row.fields else ""
            at.report(
                mark_of(data) or self.place("data"), "missing-column",
                f"table '{table.name}' needs a value for '{name}'", hint,
            )  # fmt: skip

    def check_conflict(self, at: Checking, table: Table, conflict: OnConflict) -> None:
        check_columns(at, table, conflict.columns)
        is_known = set(conflict.columns) <= set(table.columns)
        if is_known and frozenset(conflict.columns) not in table.uniques:
            names = ", ".join(conflict.columns)
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
        query = flow.query(table.name, bare=False)
        holes: list[Template] = [query.parameter(value) for value in values.values()]
        row = seq(f"({bare_columns(list(values))}) VALUES (", commas(holes), ")")
        template = seq(
            f"INSERT INTO {quote(table.name)} ", row if values else "DEFAULT VALUES",
            self.conflict(flow, query, table, list(dict(data.items))),
            f" RETURNING {bare_columns(list(table.columns))}",
            "".join(more for name, more in self.moved(flow, table).items() if name in values),
        )  # fmt: skip
        code, sql, parameters = flow.statement(query, template)
        write = flow.expression(
            f"await host.database.write({sql}, {parameters})", host=flow.root("host")
        )
        return code + first_row(flow, self.as_, flow.row(table.columns.values()), write, one=True)

    def moved(self, flow: Flow, table: Table) -> dict[str, str]:
        """Return what RETURNING adds where a row brings its own number of a column."""
        counted = [name for name, column in table.columns.items() if column.auto == "increment"]
        return {name: flow.dialect.moves_on(table.name, name) for name in counted}

    def conflict(self, flow: Flow, query: Query, table: Table, given: list[str]) -> Template:
        conflict = self.insert.on_conflict
        if conflict is None:
            return ""
        if isinstance(conflict.do, MapValue):
            head = f" ON CONFLICT ({bare_columns(conflict.columns)}) DO UPDATE SET "
            return seq(head, assignments(flow, query, table, conflict.do))
        mode = str(_does(conflict))
        updated = [name for name, column in table.columns.items() if column.auto == "updated"]
        return conflict_clause(conflict.columns, mode, given, updated)

    def dynamic(self, flow: Flow, table: Table) -> list[ast.stmt]:
        """`data: ${ … }`: the columns are known only at run time."""
        conflict = self.insert.on_conflict
        mode = str(_does(conflict)) if conflict else ""
        updated = [name for name, column in table.columns.items() if column.auto == "updated"]
        columns = {name: column.type for name, column in table.columns.items()}
        makes = [name for name, column in table.columns.items() if column.auto != "increment"]
        fills = {n: v for n in makes if (v := automatic(flow, table.columns[n])) is not None}
        inserter = flow.constant(
            f"{flow.dialect.writes}:Inserter", table.name, columns,
            [str(name) for name in conflict.columns] if conflict else [], mode, updated,
            self.moved(flow, table), table.longest,
        )  # fmt: skip
        return flow.store(
            self.as_,
            flow.expression(
                "await inserter(host.database, data, fills)",
                inserter=inserter,
                host=flow.root("host"),
                data=flow.value(self.insert.data),
                fills=flow.expression(
                    "lambda: FILLS",
                    FILLS=ast.Dict([ast.Constant(name) for name in fills], list(fills.values())),
                ),
            ),
        )


def _does(conflict: OnConflict) -> object:
    """Return the word of `do`; None for a map."""
    return conflict.do.value if isinstance(conflict.do, Constant) else None


def _hidden(of: Type, table: Table) -> Type:
    """A row or rows, nobody knows which: private if a column is."""
    return concealed(of, by=table.column_types.values())
