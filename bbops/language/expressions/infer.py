"""Find the type of each part of an expression, and what is wrong with it."""

from __future__ import annotations

from bbops.language.expressions import nodes as s
from bbops.language.expressions import types as t
from bbops.language.expressions.checks import Checks
from bbops.language.expressions.filters import check_call, check_filter
from bbops.language.expressions.operations import check_binary, check_compare, check_unary
from bbops.language.expressions.reads import check_index, check_member, check_name
from bbops.language.expressions.related import (
    asks_related,
    asks_window,
    check_related,
    check_window,
)
from bbops.language.expressions.types import Type


class Inference(Checks):
    """Walks one scalar's expressions, and asks for each part the check of its kind."""

    def infer(self, node: s.Node) -> Type:
        """Return the type of a node; mistakes go to the scope's report."""
        found = self.find(node)
        self.scope.types[id(node)] = found
        if self.scope.watch is not None:
            self.scope.watch(node, self.scope)
        return found

    def find(self, node: s.Node) -> Type:
        match node:
            case s.Literal():
                return t.type_of_constant(node.value)
            case s.Name():
                return self.narrowed(node, check_name(self, node))
            case s.Member():
                return self.narrowed(node, check_member(self, node))
            case s.ItemAccess():
                return self.narrowed(node, check_index(self, node))
            case s.ListOf():
                return t.list_of(t.joined([self.infer(item) for item in node.items]))
            case s.Unary():
                return check_unary(self, node)
            case s.Binary():
                return check_binary(self, node)
            case s.Compare():
                return check_compare(self, node)
            case s.Logic():
                return self.logic(node)
            case s.Choice():
                return self.choice(node)
            case s.Filter():
                return check_filter(self, node)
            case s.Arrow():
                return self.wrong(
                    node.start, "type", "an arrow function is an argument of a filter of lists",
                    "write 'list | map(row => row.name)'",
                )  # fmt: skip
            case s.FunctionCall():
                if asks_window(self.scope, node):
                    return check_window(self, node)
                related = asks_related(self.scope, node)
                return check_related(self, node) if related else check_call(self, node)
            case _:
                raise AssertionError(node)

    def logic(self, node: s.Logic) -> Type:
        yes, no = self.condition(node.left)
        with self.scope.knowing(yes if node.op == "and" else no):
            self.condition(node.right)
        return t.BOOLEAN

    def choice(self, node: s.Choice) -> Type:
        yes, no = self.condition(node.test)
        with self.scope.knowing(yes):
            then = self.infer(node.then)
        with self.scope.knowing(no):
            other = self.infer(node.other)
        return t.either_way(node.then, then, node.other, other)
