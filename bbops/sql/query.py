"""Compile expressions over columns into SQL templates.

Parts without columns are decided in Python before SQL is chosen: a boolean part becomes a switch
that prunes the text (`query.author == null or author_id == query.author`), any other a parameter.
Parameters of a pruned part are never computed, so they may fail there.
Comparisons are two-valued, as everywhere in the language: null equals null.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from copy import copy
from itertools import count

from bbops.expressions import nodes as s
from bbops.expressions.related import names_of
from bbops.expressions.scope import Scope
from bbops.expressions.types import Type
from bbops.sql.template import Template, commas, joined, seq
from bbops.sql.types import Table, quote

_COMPARE = {"==": " IS ", "!=": " IS NOT ", "<": " < ", "<=": " <= ", ">": " > ", ">=": " >= "}
_OFF_NUMBERS = {"datetime", "date", "decimal"}
"""Kinds that SQLite keeps as text, so its arithmetic is not ours."""
_FILTERS: Mapping[str, str] = {
    "length": "length({0})", "lower": "bbops_lower({0})", "upper": "bbops_upper({0})",
    "trim": "bbops_trim({0})", "replace": "replace({0}, {1}, {2})",
    "contains": "(instr({0}, {1}) > 0)", "startsWith": "(instr({0}, {1}) = 1)",
    # Bytes, since `length` of a text stops at a NUL; the end of UTF-8 is the end of the text.
    "endsWith": "({1} = '' AND {0} = {0} OR substr(CAST({0} AS BLOB), "
    "length(CAST({0} AS BLOB)) - length(CAST({1} AS BLOB)) + 1) = CAST({1} AS BLOB))",
    "default": "coalesce({0}, {1})", "abs": "abs({0})",
    "floor": "floor({0})", "ceil": "ceil({0})", "min": "min({0}, {1})", "max": "max({0}, {1})",
    "clamp": "max({1}, min({2}, {0}))",
}  # fmt: skip
MAX_NESTING = 20
"""Parentheses in parentheses; SQLite's parser has room for about 100 words that wait."""

_NUMERIC = frozenset({"abs", "floor", "ceil", "min", "max", "clamp", "round"})
COLUMN_FILTERS = frozenset({*_FILTERS, "round", "slice", "toString"})
"""Filters that also run on columns."""


class NotInSql(Exception):
    """A part of an expression over columns has no SQL."""

    def __init__(self, offset: int, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.offset, self.message, self.hint = offset, message, hint


class Query:
    """Collects the switches and parameters of one statement while its parts are compiled.

    `bound` and `bound_list` give the Python that makes a parameter out of a part without columns,
    `decided` the one that makes a switch.
    """

    def __init__(
        self, table: Table, scope: Scope, host: Callable[[s.Node], ast.expr], *, bare: bool
    ) -> None:
        """Args: `host` gives the Python of a part without columns; `bare`: names are columns."""
        self.table, self.scope, self.host, self.bare = table, scope, host, bare
        self.switches: list[ast.expr] = []
        self.parameters: list[ast.expr] = []
        self.live: list[ast.expr] = []  # under what switches the part being compiled is used
        self.alias, self.outer = quote(table.name), self
        self.aliases = count(1)

    def rows_only(self) -> Query:
        """Return this query where only `row.<column>` is a column; its parameters are shared."""
        found = copy(self)
        found.bare = False
        return found

    # ---- what depends on columns
    def path(self, node: s.Node) -> tuple[str, ...] | None:
        """Return the column that `node` reads, and before it the relations that lead there."""
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

    def owner(self, node: s.Node, path: tuple[str, ...]) -> Query:
        """Return the query whose row a path begins at: a name is first the innermost table's."""
        found = self
        while isinstance(node, s.Member):
            node = node.of
        is_row = isinstance(node, s.Name) and node.name == "row"
        while found.outer is not found and (is_row or not _has(found.table, path[0])):
            found = found.outer
        return found

    def read(self, node: s.Node, path: tuple[str, ...]) -> str:
        """Return the SQL of a column, or of one that relations lead to."""
        owner = self.owner(node, path)
        return owner.reach(node, owner.alias, owner.table, path)

    def reach(self, node: s.Node, alias: str, table: Table, path: tuple[str, ...]) -> str:
        name, *rest = path
        if name in table.columns or name not in table.relations:
            return f"{alias}.{quote(name)}"
        relation = table.relations[name]
        if not rest:
            message = f"'{name}' is a row of table '{relation.table}', not a value"
            raise NotInSql(node.start, message, f"write '{name}.{relation.key}'")
        if rest == [relation.key]:  # a foreign key is the key that it points to
            return f"{alias}.{quote(relation.column)}"
        inner = f"x{next(self.aliases)}"
        value = self.reach(node, inner, table.tables[relation.table], tuple(rest))
        return (
            f"(SELECT {value} FROM {quote(relation.table)} AS {inner} "
            f"WHERE {inner}.{quote(relation.key)} = {alias}.{quote(relation.column)})"
        )

    def related(self, node: s.Call, path: tuple[str, ...]) -> Template:
        """Return `exists` or `count` of the rows that refer to this one."""
        owner = self.owner(node.args[0], path)
        last = owner.table.follow(path[:-1])
        assert last is not None  # noqa: S101 - checked before
        children = last.children[path[-1]]
        key = owner.reach(node, owner.alias, owner.table, (*path[:-1], children.key))
        inner = copy(self)
        inner.table, inner.outer = owner.table.tables[children.table], self
        inner.alias = f"x{next(self.aliases)}"
        wanted = inner.condition(node.args[1]) if len(node.args) > 1 else "1"
        rows = seq(
            f"FROM {quote(children.table)} AS {inner.alias} "
            f"WHERE {inner.alias}.{quote(children.column)} = {key} AND ", wanted,
        )  # fmt: skip
        if node.name == "exists":
            return seq("EXISTS (SELECT 1 ", rows, ")")
        return seq("(SELECT count(*) ", rows, ")")

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

    # ---- conditions
    def condition(self, node: s.Node) -> Template:
        """Return the template of a boolean expression."""
        if not self.has_columns(node):
            return ("switch", self.switch(self.decided(node)))
        match node:
            case s.Logic():
                return self.logic(node)
            case s.Unary(op="not"):
                return ("not", self.condition(node.of))
            case s.Compare():
                return self.compare(node)
            case _:
                return self.scalar(node)

    def logic(self, node: s.Logic) -> Template:
        parts = _flatten(node, node.op)
        depth, done = len(self.live), {}
        for part in parts:
            if not self.has_columns(part):
                at = self.switch(self.decided(part))
                done[id(part)] = ("switch", at)
                self.live.append(self.read_switch(at, on=node.op == "and"))
        found = tuple(done.get(id(part)) or self.condition(part) for part in parts)
        del self.live[depth:]
        return (node.op, *found)

    # ---- values
    def scalar(self, node: s.Node) -> Template:
        """Return the template of any expression."""
        if not self.has_columns(node):
            return self.parameter(self.bound(node))
        path = self.path(node)
        if path is not None:
            return self.read(node, path)
        match node:
            case s.Call(name="exists" | "count") if node.args:
                return self.related(node, names_of(node.args[0]) or ())
            case s.Compare() | s.Logic() | s.Unary(op="not"):
                return seq("(", self.condition(node), " IS TRUE)")  # as a value it is never null
            case s.Unary():
                return seq("(-", self.scalar(node.of), ")")
            case s.Binary():
                return self.binary(node)
            case s.Choice():
                return self.choice(node)
            case s.Filter():
                return self.filter(node)
            case _:
                raise NotInSql(node.start, "this cannot be computed on columns")

    def bound(self, node: s.Node, beside: str = "any") -> ast.expr:
        """Return the code of a parameter; `beside` is the kind it is compared with."""
        del beside
        return self.host(node)

    def decided(self, node: s.Node) -> ast.expr:
        """Return the code of a condition that is decided before SQL."""
        return self.host(node)

    def bound_list(self, node: s.Node) -> ast.expr:
        """Return the code of a list as one parameter: its JSON."""
        return self.host(node)

    def type_of(self, node: s.Node) -> Type:
        return self.scope.type_of(node)

    def compared(self, node: s.Node, other: s.Node) -> Template:
        """Return one side of a comparison; decimals are compared by value, not as text."""
        if not self.has_columns(node):
            return self.parameter(self.bound(node, self.type_of(other).kind))
        found = self.scalar(node)
        if self.type_of(node).kind != "decimal":
            return found
        if self.path(node) is None:
            raise NotInSql(node.start, "decimals are compared in SQL, but not computed")
        return seq(found, " COLLATE bbops_decimal")

    def compare(self, node: s.Compare) -> Template:
        if node.op in {"in", "not in"}:
            found = self.member_of(node)
            return ("not", found) if node.op == "not in" else found
        left = self.compared(node.left, node.right)
        right = self.compared(node.right, node.left)
        return seq("(", left, _COMPARE[node.op], right, ")")

    def member_of(self, node: s.Compare) -> Template:
        """Return `in`; a null of the column is in a list that has a null."""
        if self.has_columns(node.right) and not isinstance(node.right, s.ListOf):
            raise NotInSql(node.right.start, "'in' needs a list", "json columns are not searched")
        left = self.compared(node.left, node.right)
        if isinstance(node.right, s.ListOf):
            items = [self.compared(item, node.left) for item in node.right.items]
            pairs = zip(node.right.items, items, strict=True)
            nulls = [seq(item, " IS NULL") for of, item in pairs if self.type_of(of).nullable]
            found = seq("(", left, " IN (", commas(items), "))")
        else:
            listed = self.parameter(self.bound_list(node.right))
            nulls = [seq("EXISTS (SELECT 1 FROM json_each(", listed, ") WHERE value IS NULL)")]
            found = seq("(", left, " IN (SELECT value FROM json_each(", listed, ")))")
        if not nulls or not self.type_of(node.left).nullable:
            return found
        return seq("(", found, " OR (", left, " IS NULL AND (", joined(nulls, " OR "), ")))")

    def binary(self, node: s.Binary) -> Template:
        left, right = self.scalar(node.left), self.scalar(node.right)
        kinds = {self.type_of(node.left).kind, self.type_of(node.right).kind}
        if kinds & _OFF_NUMBERS:
            raise NotInSql(node.start, f"'{node.op}' on such columns is not computed in SQL")
        if node.op == "/":
            return seq("(CAST(", left, " AS REAL) / ", right, ")")
        if node.op == "%" and kinds != {"integer"}:
            return seq("(", left, " - ", right, " * CAST(", left, " / ", right, " AS INTEGER))")
        op = "||" if node.op == "+" and "text" in kinds else node.op
        return seq("(", left, f" {op} ", right, ")")

    def text(self, node: s.Node) -> Template:
        """Return a value as it stands inside a longer text."""
        kind = self.type_of(node).kind
        if not self.has_columns(node) or kind == "text":
            return self.scalar(node)
        if kind == "boolean":
            return seq("CASE WHEN ", self.condition(node), " THEN 'true' ELSE 'false' END")
        if kind == "integer":
            return seq("CAST(", self.scalar(node), " AS TEXT)")
        raise NotInSql(node.start, f"a {kind} does not become text in SQL")

    def template(self, parts: tuple[str | s.Node, ...]) -> Template:
        """Return text with expressions inside."""
        pieces: list[Template] = [
            self.parameter(ast.Constant(part)) if isinstance(part, str) else self.text(part)
            for part in parts
        ]
        return seq("(", joined(pieces, " || "), ")")

    def choice(self, node: s.Choice) -> Template:
        if self.has_columns(node.test):
            return seq(
                "CASE WHEN ", self.condition(node.test), " THEN ", self.scalar(node.then),
                " ELSE ", self.scalar(node.other), " END",
            )  # fmt: skip
        at = self.switch(self.decided(node.test))
        sides = []
        for side, on in ((node.then, True), (node.other, False)):
            self.live.append(self.read_switch(at, on=on))
            sides.append(self.scalar(side))
            self.live.pop()
        return ("if", at, *sides)

    def filter(self, node: s.Filter) -> Template:
        if node.name == "default" and not self.has_columns(node.of):
            return self.default(node)
        if node.name not in COLUMN_FILTERS:
            raise NotInSql(
                node.name_start, f"filter '{node.name}' does not run on columns",
                "use it on the value it is compared with, or on the rows",
            )  # fmt: skip
        if node.name == "toString":
            return self.text(node.of)
        if node.name in _NUMERIC and self.type_of(node.of).kind == "decimal":
            message = f"'{node.name}' on decimals is not computed in SQL"
            raise NotInSql(node.name_start, message)
        of = self.scalar(node.of)
        args = [self.scalar(arg) for arg in node.args]
        if node.name == "round":
            return seq("round(", commas([of, *args]), ")")
        if node.name == "slice":
            return self.slice(node, of)
        return _format(_FILTERS[node.name], [of, *args])

    def default(self, node: s.Filter) -> Template:
        """`input.title | default(row.title)`: the column is read only when the value is null."""
        is_null = ast.Compare(self.host(node.of), [ast.Is()], [ast.Constant(None)])
        at = self.switch(is_null)
        self.live.append(self.read_switch(at, on=True))
        other = self.scalar(node.args[0])
        self.live[-1] = self.read_switch(at, on=False)
        given = self.parameter(self.bound(node.of))
        self.live.pop()
        return ("if", at, other, given)

    def slice(self, node: s.Filter, of: Template) -> Template:
        ends = [arg.value if isinstance(arg, s.Literal) else None for arg in node.args]
        if len(ends) != 2 or not all(isinstance(end, int) and end >= 0 for end in ends):
            raise NotInSql(node.name_start, "on columns 'slice' needs two constants from 0 on")
        start, stop = int(ends[0] or 0), int(ends[1] or 0)
        return seq("substr(", of, f", {start + 1}, {max(0, stop - start)})")


def check_nesting(node: s.Node, template: Template) -> None:
    """Refuse SQL that is nested deeper than every SQLite can read.

    Raises:
        NotInSql: it is.
    """
    if _nesting(template) > MAX_NESTING:
        hint = "set variables for parts without columns, or search in two steps"
        raise NotInSql(node.start, "the condition is nested too deeply for SQL", hint)


def _nesting(template: Template) -> int:
    if not isinstance(template, tuple):
        return 0
    open_, most = 0, 0
    for part in template[1:]:
        if isinstance(part, str):
            open_ += part.count("(") - part.count(")")
        most = max(most, open_ + _nesting(part))
    return most + (template[0] in {"and", "or", "not"})


def _has(table: Table, name: str) -> bool:
    return name in table.columns or name in table.relations or name in table.children


def _flatten(node: s.Node, op: str) -> list[s.Node]:
    if isinstance(node, s.Logic) and node.op == op:
        return [*_flatten(node.left, op), *_flatten(node.right, op)]
    return [node]


def _format(pattern: str, parts: list[Template]) -> Template:
    """Fill `{0}`, `{1}` … of a pattern; a part may stand in it more than once."""
    out: list[Template] = []
    for at, piece in enumerate(pattern.replace("}", "{").split("{")):
        if at % 2:
            out.append(parts[int(piece)])
        elif piece:
            out.append(piece)
    return ("seq", *out)
