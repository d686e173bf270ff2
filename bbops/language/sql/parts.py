"""The shared state of a statement's parts, and the tables that it reads."""

from __future__ import annotations

import ast
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from itertools import count
from typing import Any, Self

from bbops.language.expressions import nodes as s
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.types import TEXT_COLUMNS, Type
from bbops.language.sql.dialect import Dialect, Slot, Template, Use, filled
from bbops.language.sql.sqlite import SQLITE
from bbops.language.sql.types import Relation, SqlColumn, SqlTable
from bbops.runtime.data.rows import LONGEST_SEARCHED
from bbops.runtime.values.identifiers import quote


class NotInSql(Exception):
    """A part of an expression over columns has no SQL."""

    def __init__(
        self, offset: int, message: str, hint: str = "", code: str = "not-in-sql"
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.offset, self.message, self.hint, self.code = offset, message, hint, code


class Joins:
    """The rows of a query's relations, joined in its FROM; null without a row.

    Attributes:
        aliases: the aliases of the query's table, and of the joined tables.
        sql: the text after the table in FROM.
    """

    def __init__(self, root: str) -> None:
        self.aliases, self.sql = {root}, ""
        self._found: dict[tuple[str, str], str] = {}

    def join(self, alias: str, relation: Relation, source: str, name: Callable[[], str]) -> str:
        """Return the alias of the row of `source` that a relation of `alias` leads to."""
        found = self._found.get((alias, relation.column))
        if found is None:
            found = self._found[alias, relation.column] = name()
            self.aliases.add(found)
            self.sql += (
                f" LEFT JOIN {source} AS {found}"
                f" ON {found}.{quote(relation.key)} = {alias}.{quote(relation.column)}"
            )
        return found


class Parts:
    """Collects the switches and parameters of one statement while its parts are compiled.

    `bound` returns the Python of a parameter for a part without columns, `decided` the Python of a
    switch.
    """

    def __init__(
        self, table: SqlTable, scope: Scope, host: Callable[[s.Node], ast.expr], *, bare: bool,
        dialect: Dialect = SQLITE,
    ) -> None:  # fmt: skip
        """Args: `host` gives the Python of a part without columns; `bare`: names are columns."""
        self.table, self.scope, self.host, self.bare = table, scope, host, bare
        self.dialect = dialect
        self.switches: list[ast.expr] = []
        self.parameters: list[ast.expr] = []
        self.live: list[ast.expr] = []  # the switches under which the current part is used
        self.alias = quote(table.name)
        self.bare_alias = ""  # the alias of rows that come from the table itself, not from `rows`
        self.outer: Parts = self
        self.aliases = count(1)
        self.joins: Joins | None = None
        self.visible = Visible()

    def rows_only(self) -> Self:
        """Return this query with only `row.<column>` as columns; its parameters are shared."""
        found = copy(self)
        found.bare = False
        return found

    def type_of(self, node: s.Node) -> Type:
        return self.scope.type_of(node)

    def column_of(self, name: str, node: s.Node) -> SqlColumn:
        """Return the column whose decoder fits a value that is read.

        Raises:
            NotInSql: the database returns values of its kind as another one.
        """
        path = self.path(node)
        if path is not None:
            return SqlColumn(name, self.column_type(node, path), nullable=True)
        kind = self.type_of(node).kind
        if kind in {"any", "null", "list", "map"}:
            hint = "select columns, and add the value in a step after this one"
            raise NotInSql(node.start, f"{kind} is not supported in SQL", hint)
        return SqlColumn(name, "string" if kind in {"text", *TEXT_COLUMNS} else kind, nullable=True)

    def column_type(self, node: s.Node, path: tuple[str, ...]) -> str:
        """Return the type of the column at the end of a path; empty if it leads to a row."""
        table = self.owner(node, path).table.follow(path[:-1])
        assert table is not None  # noqa: S101 - a path continues from a row
        column = table.columns.get(path[-1])
        return column.type if column else ""

    def may_be_null(self, node: s.Node) -> bool:
        """Return whether a value in SQL may be null: also by a division, which the type hides."""
        divides = isinstance(node, s.Binary) and node.op in {"/", "%"}
        return (
            divides or self.type_of(node).nullable or any(map(self.may_be_null, s.children(node)))
        )

    def condition(self, node: s.Node) -> Template:
        """Return the template of a boolean expression."""
        raise NotImplementedError

    def scalar(self, node: s.Node, beside: str = "any") -> Template:
        """Return the template of any expression; `beside` is the kind of the other operand."""
        raise NotImplementedError

    # ---- parts with columns
    def path(self, node: s.Node) -> tuple[str, ...] | None:
        """Return the column that `node` reads, after the relations that lead to it."""
        if isinstance(node, s.Name) and self.bare and node.name not in {*self.scope.roots, "vars"}:
            return (node.name,)
        if not isinstance(node, s.Member):
            return None
        if isinstance(node.of, s.Name) and node.of.name == "row":
            return (node.name,) if "row" in self.scope.roots else None
        of = self.path(node.of)
        if of is None or self.owner(node, of).table.follow(of) is None:
            return None
        return (*of, node.name)

    def has_columns(self, node: s.Node) -> bool:
        """Return whether any part of `node` reads a column."""
        return self.path(node) is not None or any(map(self.has_columns, s.children(node)))

    def owner(self, node: s.Node, path: tuple[str, ...]) -> Parts:
        """Return the query whose row a path begins at: a name is first the innermost table's."""
        found: Parts = self
        while isinstance(node, s.Member):
            node = node.of
        is_row = isinstance(node, s.Name) and node.name == "row"
        while found.outer is not found and (is_row or not _has(found.table, path[0])):
            found = found.outer
        return found

    def read(self, node: s.Node, path: tuple[str, ...]) -> str:
        """Return the SQL of a column of the row, or of a related row."""
        owner = self.owner(node, path)
        return owner.reach(node, owner.alias, owner.table, path)

    def reach(
        self,
        node: s.Node,
        alias: str,
        table: SqlTable,
        path: tuple[str, ...],
        *,
        seen: bool = False,
    ) -> str:
        """Return the SQL of a path's end. Args: `seen`: a key counts only with its row."""
        name, *rest = path
        if name in table.columns or name not in table.relations:
            is_bare = alias == self.bare_alias and name in table.columns
            if is_bare and table.columns[name].computed is not None:
                return self.compute(table, name, alias)
            return f"{alias}.{quote(name)}"
        relation = table.relations[name]
        if not rest:
            message = f"'{name}' is a row of table '{relation.table}', not a value"
            raise NotInSql(node.start, message, f"write '{name}.{relation.key}'")
        target = table.tables[relation.table]
        if rest == [relation.key] and not (seen and target.hides):
            return f"{alias}.{quote(relation.column)}"  # the key of the related row
        if self.joins is not None and alias in self.joins.aliases:
            source = self.visible.source(target)
            joined = self.joins.join(alias, relation, source, self.alias_of_its_own)
            return self.reach(node, joined, target, tuple(rest), seen=seen)
        inner = self.alias_of_its_own()
        value = self.reach(node, inner, target, tuple(rest), seen=seen)
        return (
            f"(SELECT {value} FROM {self.visible.source(target)} AS {inner} "
            f"WHERE {inner}.{quote(relation.key)} = {alias}.{quote(relation.column)})"
        )

    def compute(self, table: SqlTable, name: str, alias: str) -> str:
        """Return the SQL of a computed column of stored rows."""
        raise NotImplementedError

    @property
    def rows(self) -> str:
        """The text after FROM for the table's rows that the statement sees."""
        source = self.visible.source(self.table)
        return source if source == self.alias else f"{source} AS {self.alias}"

    def alias_of_its_own(self) -> str:
        """Return an alias for a table inside the statement that no table has."""
        return f"_{next(self.aliases)}"

    # ---- parameters and switches
    def parameter(self, code: ast.expr) -> int:
        """Add a value bound at run time and return its position."""
        self.parameters.append(self.guarded(code))
        return len(self.parameters) - 1

    def switch(self, code: ast.expr) -> int:
        """Add a condition decided before SQL and return its position."""
        self.switches.append(self.guarded(code))
        return len(self.switches) - 1

    def guarded(self, code: ast.expr) -> ast.expr:
        if not self.live:
            return code
        return ast.IfExp(ast.BoolOp(ast.And(), [*self.live]) if len(self.live) > 1
                         else self.live[0], code, ast.Constant(None))  # fmt: skip

    def read_switch(self, at: int, *, on: bool) -> ast.expr:
        code: ast.expr = ast.Name(f"s_{at}", ast.Load())
        return code if on else ast.UnaryOp(ast.Not(), code)

    def given(
        self, node: s.Node, beside: str = "any", use: Use = "value", form: str = ""
    ) -> Template:
        """Return a part without columns as a parameter.

        Args:
            beside: the kind of the other operand.
            form: the normal form of the text; see `form_beside`.
        """
        slot = self.dialect.slot(self.type_of(node).kind, beside, use)
        if form and slot.sql != "NULL":
            field = s.request_field(node)
            given = (field,) if form == "date" else (form, field)
            slot = replace(slot, binder="bind_date" if form == "date" else "bind_form", given=given)
        return self.slotted(node, slot)

    def searched(self, node: s.Node, field: str) -> Template:
        """Return a text that is looked for in a column; `field` of the request gives it."""
        if self.has_columns(node):
            return self.scalar(node, "text")
        if isinstance(node, s.Literal) and len(str(node.value)) > LONGEST_SEARCHED:
            message = f"a text to look for has at most {LONGEST_SEARCHED} characters"
            raise NotInSql(node.start, message)
        slot = self.dialect.slot(self.type_of(node).kind, "text", "value")
        return self.slotted(node, replace(slot, binder="bind_searched", given=(field,)))

    def given_list(self, node: s.Node, beside: str, form: str = "") -> Template:
        """Return a list without columns as one parameter, to look for values of a kind in it."""
        slot = self.dialect.list_slot(beside)
        if form:
            slot = replace(slot, binder="bind_forms", given=(form, s.request_field(node)))
        return self.slotted(node, slot)

    def constant_text(self, text: str) -> Template:
        """Return an author's constant text as a parameter."""
        slot = self.dialect.slot("text", "any", "value")
        return _placed(slot, self.parameter(ast.Constant(text)))

    def slotted(self, node: s.Node, slot: Slot) -> Template:
        if "{}" not in slot.sql:
            return slot.sql
        return _placed(slot, self.parameter(self.bound(node, slot)))

    def bound(self, node: s.Node, slot: Slot) -> ast.expr:
        """Return the code of a parameter."""
        del slot
        return self.host(node)

    def decided(self, node: s.Node) -> ast.expr:
        """Return the code of a condition that is decided before SQL."""
        return self.host(node)


def _placed(slot: Slot, parameter: int) -> Template:
    return parameter if slot.sql == "{}" else filled(slot.sql.replace("{}", "{0}"), [parameter])


def _has(table: SqlTable, name: str) -> bool:
    return name in table.columns or name in table.relations or name in table.children


def read_constant(node: s.Node, why: str) -> Any:
    """Return the value of a literal, also after a minus.

    Raises:
        NotInSql: it is not a literal; `why` is the message.
    """
    match node:
        case s.Literal(value=value):
            return value
        case s.Unary(op="-", of=s.Literal(value=int() | float() as value)):
            return -value
    raise NotInSql(node.start, why)


# ---- Where a table enters a statement: as the rows that the statement may see
# A table with rules, or with computed columns, is named in WITH once, and read under that name
# wherever the statement reads it: behind FROM, through relations, in an order. Both databases take
# such a name for the table itself with one more condition, so indexes serve it as before.

_LONGEST = 50


class Visible:
    """The tables with more than the database knows of, by the names of their visible rows."""

    def __init__(self, schema: str = "") -> None:
        """Args: `schema` stands before the names of tables, where the statement has others too."""
        self.found: dict[str, SqlTable] = {}
        self.schema = schema

    def stored(self, table: SqlTable) -> str:
        """Return the name of all rows of a table."""
        return f"{self.schema}{quote(table.name)}"

    def source(self, table: SqlTable) -> str:
        """Return the name of the rows of a table that the statement sees."""
        if not (table.hides or table.computes):
            return self.stored(table)
        kind = "whole"
        if table.rules is not None and table.hides:
            kind = "visible" if table.rules.of("read") else "kept"  # rules see what is kept
        name = quote(f"_{kind}_{table.name}"[:_LONGEST])
        while self.found.setdefault(name, table).name != table.name:
            name = quote(f"{name[1:-1]}_")
        return name
