"""Compile expressions over columns into SQL templates.

Parts without columns are decided in Python before SQL is chosen: a boolean part becomes a switch
that prunes the text (`query.author == null or author_id == query.author`), any other a parameter.
Parameters of a pruned part are never computed, so they may fail there.
Comparisons are two-valued, as everywhere in the language: null equals null.
"""

from __future__ import annotations

from typing import ClassVar

from bbops.language.expressions import nodes as s
from bbops.language.expressions.nodes import is_same
from bbops.language.expressions.related import RELATED, WINDOWS
from bbops.language.sql.compare import compare
from bbops.language.sql.dialect import Template, seq
from bbops.language.sql.filters import filtered
from bbops.language.sql.parts import NotInSql, Parts
from bbops.language.sql.related import related, window

_OFF_NUMBERS = {"datetime", "date", "decimal"}
"""Kinds that SQLite stores as text, so its arithmetic does not fit."""
MAX_NESTING = 20
"""The deepest nesting of parentheses; SQLite's parser has room for about 100 waiting words."""
LIST_NESTING = 4
"""The levels that a list of related rows needs."""


class Query(Parts):
    """Compiles the expressions of one statement.

    Attributes:
        has_functions: SQLite has the custom functions at this place.
    """

    has_functions: ClassVar[bool] = True

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
                return compare(self, node)
            case _:
                return self.scalar(node)

    def logic(self, node: s.Logic) -> Template:
        parts = flatten(node, node.op)
        depth, done = len(self.live), {}
        for part in parts:
            if not self.has_columns(part):
                at = self.switch(self.decided(part))
                done[id(part)] = ("switch", at)
                self.live.append(self.read_switch(at, on=node.op == "and"))
        found = tuple(done.get(id(part)) or self.condition(part) for part in parts)
        del self.live[depth:]
        return (node.op, *found)

    def scalar(self, node: s.Node, beside: str = "any") -> Template:
        """Return the template of any expression; `beside` is the kind of the other operand."""
        if not self.has_columns(node):
            return self.given(node, beside)
        path = self.path(node)
        if path is not None:
            return self.dialect.column(self.read(node, path), self.column_type(node, path))
        match node:
            case s.FunctionCall() if node.name in WINDOWS:
                return window(self, node)
            case s.FunctionCall() if node.name in RELATED:
                return related(self, node)
            case s.Compare() | s.Logic() | s.Unary(op="not"):
                return seq("(", self.condition(node), " IS TRUE)")  # as a value it is never null
            case s.Unary():
                of = self.scalar(node.of)
                if self.type_of(node.of).kind == "decimal" and self.has_functions:
                    return self.dialect.exact_binary("-", "0", of)
                return seq("(-", of, ")")
            case s.Binary():
                return self.binary(node)
            case s.Choice():
                return self.choice(node)
            case s.Filter():
                return filtered(self, node)
            case _:
                raise NotInSql(node.start, "this is not supported on columns")

    def binary(self, node: s.Binary) -> Template:
        of = [self.type_of(side).kind for side in (node.left, node.right)]
        if "decimal" in of and node.op in {"+", "-", "*"} and self.has_functions:
            return self.exact(node)
        left, right = self.scalar(node.left, of[1]), self.scalar(node.right, of[0])
        if node.op == "-" and "datetime" in of and self.has_functions:
            return self.dialect.moments.between(left, right)
        if "decimal" in of and self.has_functions:
            raise self.inexact(node, of)
        if _OFF_NUMBERS & {*of}:
            kinds = " and ".join(dict.fromkeys(of))
            hint = "read the columns, and compute it in a step after this one"
            raise NotInSql(
                node.start, f"'{node.op}' on {kinds} columns is not supported in SQL", hint
            )
        if node.op == "/":
            return self.dialect.divided(left, right)
        if node.op == "%":
            return self.dialect.remainder(left, right, whole={*of} == {"integer"})
        op = "||" if node.op == "+" and "text" in of else node.op
        return seq("(", left, f" {op} ", right, ")")

    def exact(self, node: s.Binary) -> Template:
        """Return exact arithmetic with decimals."""
        sides = []
        for side, other in ((node.left, node.right), (node.right, node.left)):
            of = self.type_of(side).kind
            if of not in {"decimal", "integer"} and self.has_columns(side):
                raise self.inexact(node, [of, self.type_of(other).kind])
            is_number = of not in {"decimal", "integer"}
            sides.append(
                self.given(side, "decimal", "equal") if is_number
                else self.scalar(side, self.type_of(other).kind)
            )  # fmt: skip
        return self.dialect.exact_binary(node.op, *sides)

    def inexact(self, node: s.Binary, of: list[str]) -> NotInSql:
        """Return the error for arithmetic with decimals that would lose digits."""
        if node.op == "/":
            hint = "write 'total | divide(3, 2)', which says how many places the result has"
            message = "'/' of decimals has no exact result"
            return NotInSql(node.start, message, hint, "decimal-division")
        kinds = " and ".join(sorted({*of}))
        hint = "use decimals, whole numbers and constants, or compute it in a step after this one"
        return NotInSql(node.start, f"'{node.op}' on {kinds} is not exact in SQL", hint)

    def choice(self, node: s.Choice) -> Template:
        if self.has_columns(node.test):
            return seq(
                "CASE WHEN ", self.condition(node.test), " THEN ", self.side(node, node.then),
                " ELSE ", self.side(node, node.other), " END",
            )  # fmt: skip
        at = self.switch(self.decided(node.test))
        sides = []
        for side, on in ((node.then, True), (node.other, False)):
            self.live.append(self.read_switch(at, on=on))
            sides.append(self.side(node, side))
            self.live.pop()
        return ("if", at, *sides)

    def side(self, node: s.Choice, side: s.Node) -> Template:
        return self.scalar(side, self.type_of(node).kind)


def check_nesting(node: s.Node, template: Template, *, lists: int = 0) -> None:
    """Refuse SQL with deeper nesting than every SQLite can parse.

    Args:
        lists: the lists of related rows around it.

    Raises:
        NotInSql: the SQL is nested too deeply.
    """
    if _nesting(template) + lists * LIST_NESTING > MAX_NESTING:
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


def finds_one(query: Parts, node: s.Node) -> bool:
    """Return whether a condition holds for one row at most: it names a whole key."""
    parts = [part for part in flatten(node, "and") if isinstance(part, s.Compare)]
    sides = [(part.left, part.right) for part in parts if part.op == "=="]
    named = {
        path[0]
        for left, right in sides for column, value in ((left, right), (right, left))
        if (path := query.path(column)) is not None and len(path) == 1
        and not query.has_columns(value) and query.type_of(value).kind != "null"
    }  # fmt: skip
    # decimals are unique by their text, and compared by value
    named = {name for name in named if query.table.columns[name].type != "decimal"}
    if any(key <= named for key in (frozenset(query.table.key), *query.table.uniques)):
        return True
    scope = query.table.rules.scope if query.table.rules is not None else ()
    known = [
        part
        for of in (node, *(condition.node for condition in scope))
        for part in flatten(of, "and")
    ]
    return any(
        partial.columns <= named and all(
            any(is_same(part, other) for other in known)
            for part in flatten(partial.where.node, "and")
        )
        for partial in query.table.partial
    )  # fmt: skip


def flatten(node: s.Node, op: str) -> list[s.Node]:
    """Return the parts that `and` or `or` joins."""
    if isinstance(node, s.Logic) and node.op == op:
        return [*flatten(node.left, op), *flatten(node.right, op)]
    return [node]
