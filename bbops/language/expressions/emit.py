"""Turn a checked expression into a restricted Python AST.

The code never reads an attribute of a value: `.name` becomes an item look-up, operators become
bounded functions of `bbops.runtime.values.operators`, filters come from one table. The code gets
its names from `Names`, which records them for the linker.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from bbops.language.expressions import nodes as s
from bbops.language.expressions.conversions import constant_form, form_beside
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.types import Type
from bbops.language.expressions.values import (
    Broken,
    Constant,
    Expression,
    ListValue,
    MapValue,
    Template,
)
from bbops.language.expressions.values import Value as AnyValue
from bbops.runtime.values.filters import FUNCTIONS

_ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "/": "div", "%": "mod"}
_COMPARE = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}

_PARTICULAR = frozenset({
    "add", "base64Decode", "clamp", "date", "difference", "divide", "matches",
    "parseJson", "round", "sort", "split",
    "startOf",
})  # fmt: skip
"""Filters that fail for some values of the right type."""


class CodeNames(Protocol):
    """The names that the expressions of a function use."""

    def root(self, name: str) -> ast.expr:
        """Return the code that reads a root such as `input`."""
        ...

    def variable(self, name: str) -> ast.expr:
        """Return the code that reads `vars.<name>`."""
        ...

    def now(self) -> ast.expr:
        """Return the code of the one `now()` of the step."""
        ...

    def use(self, target: str) -> ast.expr:
        """Return the code of `module:name`, `filter:name` or `function:name` for the linker."""
        ...


def load(name: str) -> ast.Name:
    """Return the code that reads a Python name."""
    return ast.Name(name, ast.Load())


def call(function: ast.expr, *arguments: ast.expr) -> ast.Call:
    """Return the code of a call."""
    return ast.Call(function, list(arguments), [])


def constant(value: Any) -> ast.expr:
    """Return the code of a constant of JSON's types."""
    if isinstance(value, dict):
        return ast.Dict([constant(k) for k in value], [constant(v) for v in value.values()])
    if isinstance(value, list):
        return ast.List([constant(item) for item in value], ast.Load())
    return ast.Constant(str(value) if isinstance(value, str) else value)


class Emitter:
    """Emits the expressions of one function; `override` may take over single nodes."""

    def __init__(
        self,
        scope: Scope,
        names: CodeNames,
        override: Callable[[s.Node], ast.expr | None] | None = None,
    ) -> None:
        self.scope, self.names, self.override = scope, names, override
        self.arrows: list[str] = []
        """The names of the arrow functions around the current node."""

    def value(self, value: AnyValue) -> ast.expr:
        """Return the code of a value in YAML."""
        match value:
            case Constant():
                return constant(value.value)
            case Expression():
                return self.at(value, self.node(value.node))
            case Template():
                return self.at(value, self.template(value))
            case MapValue():
                keys: list[ast.expr | None] = [ast.Constant(str(key)) for key, _ in value.items]
                return ast.Dict(keys, [self.value(item) for _, item in value.items])
            case ListValue():
                return ast.List([self.value(item) for item in value.items], ast.Load())
            case Broken():
                raise AssertionError(value.problem.message)

    def at(self, value: Expression | Template, code: ast.expr) -> ast.expr:
        """Set the YAML line of a scalar on every node of `code`, for tracebacks."""
        if value.mark is not None:
            line, column = value.mark.line, value.mark.column - 1
            for node in ast.walk(code):
                if isinstance(node, ast.expr | ast.arg) and not hasattr(node, "lineno"):
                    node.lineno = node.end_lineno = line
                    node.col_offset = node.end_col_offset = column
        return code

    def condition(self, expression: Expression) -> ast.expr:
        """Return the code of a condition; a value that is not a boolean fails at run time."""
        code = self.node(expression.node)
        if self.scope.type_of(expression.node) != Type("boolean"):
            code = self.operator("truth", code)
        return self.at(expression, code)

    def template(self, value: Template) -> ast.expr:
        parts = [
            ast.Constant(part) if isinstance(part, str) else self.text(part) for part in value.parts
        ]
        return self.operator("join_text", *parts)

    def html(self, value: AnyValue, escape: str = "filter:escapeHtml") -> ast.expr:
        """Return the code of a value as HTML; the results of expressions are escaped once.

        Args:
            value: a value, perhaps with expressions.
            escape: the function that escapes a text; markup uses another one.
        """
        match value:
            case Expression():
                return self.at(value, self.escaped(value.node, escape))
            case Template():
                parts = [
                    ast.Constant(part) if isinstance(part, str) else self.escaped(part, escape)
                    for part in value.parts
                ]
                return self.at(value, self.operator("join_text", *parts))
            case _:
                return self.value(value)

    def escaped(self, node: s.Node, escape: str) -> ast.expr:
        if self.scope.type_of(node).is_html:
            return self.node(node)
        return call(self.names.use(escape), self.text(node))

    def text(self, node: s.Node) -> ast.expr:
        return self.operator("text", self.node(node))

    def operator(self, name: str, *arguments: ast.expr) -> ast.Call:
        return call(self.names.use(f"bbops.runtime.values.operators:{name}"), *arguments)

    def node(self, node: s.Node) -> ast.expr:
        """Return the code of one node."""
        if self.override is not None and (taken := self.override(node)) is not None:
            return taken
        match node:
            case s.Literal():
                return ast.Constant(node.value)
            case s.Name():
                is_own = node.name in self.arrows
                return load(f"a_{node.name}") if is_own else self.names.root(node.name)
            case s.Member():
                return self.member(node)
            case s.ItemAccess():
                return self.index(node)
            case s.ListOf():
                return ast.List(self.nodes(node.items), ast.Load())
            case s.Unary():
                return self.unary(node)
            case s.Binary():
                left, right = self.operands(node)
                code = self.operator(_ARITHMETIC[node.op], left, right)
                return self.blamed(code, node.right) if node.op in {"/", "%"} else code
            case s.Compare():
                return self.compare(node)
            case s.Logic():
                op: ast.boolop = ast.And() if node.op == "and" else ast.Or()
                return ast.BoolOp(op, [self.boolean(node.left), self.boolean(node.right)])
            case s.Choice():
                return ast.IfExp(
                    self.boolean(node.test), self.node(node.then), self.node(node.other)
                )
            case s.Filter():
                function = self.names.use(f"filter:{node.name}")
                code = call(function, self.node(node.of), *self.nodes(node.args))
                if node.name not in _PARTICULAR:
                    return code
                args = [arg for arg in node.args if not isinstance(arg, s.Literal)]
                return self.blamed(code, *(args or [node.of]))
            case s.FunctionCall():
                return self.call(node)
            case s.Arrow():
                return self.arrow(node)
            case _:
                raise AssertionError(node)

    def arrow(self, node: s.Arrow) -> ast.expr:
        """Return the code of an arrow function, which takes a member and its index."""
        around, self.arrows = self.arrows, [*self.arrows, *node.names]
        body = self.node(node.body)
        self.arrows = around
        names = [f"a_{name}" for name in node.names]
        names += ["a_"] if len(names) == 1 else []
        given = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
        return ast.Lambda(given, body)

    def nodes(self, nodes: Iterable[s.Node]) -> list[ast.expr]:
        return [self.node(node) for node in nodes]

    def boolean(self, node: s.Node) -> ast.expr:
        code = self.node(node)
        if self.scope.type_of(node) == Type("boolean"):
            return code
        return self.operator("truth", code)

    def member(self, node: s.Member) -> ast.expr:
        if isinstance(node.of, s.Name) and node.of.name == "vars":
            return self.names.variable(node.name)
        of, key = self.node(node.of), ast.Constant(node.name)
        known = self.scope.type_of(node.of)
        if known.kind == "any":
            return self.operator("look", of, key)
        if isinstance(node.of, s.Name) and node.of.name == "input" and _is_there(known, node.name):
            return ast.Subscript(of, key, ast.Load())
        return self.operator("get_optional" if node.optional else "get", of, key)

    def index(self, node: s.ItemAccess) -> ast.expr:
        if isinstance(node.of, s.Name) and node.of.name == "vars":
            key = node.key
            if isinstance(key, s.Literal) and isinstance(key.value, str):
                return self.names.variable(key.value)
        return self.operator("index", self.node(node.of), self.node(node.key))

    def unary(self, node: s.Unary) -> ast.expr:
        if node.op == "not":
            return ast.UnaryOp(ast.Not(), self.boolean(node.of))
        return self.operator("neg", self.node(node.of))

    def compare(self, node: s.Compare) -> ast.expr:
        left, right = self.comparand(node.left, node.right), self.comparand(node.right, node.left)
        if node.op in {"==", "!="}:
            for side, other in ((node.right, left), (node.left, right)):
                if isinstance(side, s.Literal) and side.value is None:
                    op: ast.cmpop = ast.Is() if node.op == "==" else ast.IsNot()
                    return ast.Compare(other, [op], [ast.Constant(None)])
        if node.op in {"in", "not in"}:
            found = self.operator("is_in", left, right)
            return found if node.op == "in" else ast.UnaryOp(ast.Not(), found)
        return self.operator(_COMPARE[node.op], left, right)

    def operands(self, node: s.Binary) -> tuple[ast.expr, ast.expr]:
        """Return the code of both sides; a number beside a decimal becomes a decimal."""
        left, right = self.node(node.left), self.node(node.right)
        kinds = [self.scope.type_of(side).kind for side in (node.left, node.right)]
        if kinds == ["decimal", "number"]:
            right = self.exact(right)
        elif kinds == ["number", "decimal"]:
            left = self.exact(left)
        return left, right

    def exact(self, code: ast.expr) -> ast.expr:
        return call(self.names.use("bbops.runtime.values.decimals:exact"), code)

    def comparand(self, node: s.Node, other: s.Node) -> ast.expr:
        """Return the code of one side of a comparison, in the form of the other side."""
        if isinstance(node, s.ListOf):
            return ast.List([self.comparand(item, other) for item in node.items], ast.Load())
        form = form_beside(self.scope.type_of(node), self.scope.type_of(other))
        if not form or form == "date":
            return self.node(node)
        if isinstance(node, s.Literal):
            return ast.Constant(constant_form(node, form))
        name = "formed_list" if self.scope.type_of(node).kind == "list" else "formed"
        return self.formed(name, node, form)

    def formed(self, name: str, node: s.Node, form: str) -> ast.expr:
        given = [ast.Constant(form), ast.Constant(s.request_field(node))]
        return call(self.names.use(f"bbops.runtime.values.formats:{name}"), self.node(node), *given)

    def call(self, node: s.FunctionCall) -> ast.expr:
        if node.name == "now":
            return self.names.now()
        function = self.names.use(f"function:{node.name}")
        arguments = self.nodes(node.args)
        if FUNCTIONS[node.name].needs_host:
            arguments.insert(0, self.names.root("host"))
        return self.blamed(call(function, *arguments), *node.args)

    def blamed(self, code: ast.Call, *parts: s.Node) -> ast.Call:
        """Return a call that names the request's field if these parts make it fail."""
        field = s.request_field(*parts)
        if not field:
            return code
        return self.operator("blamed", ast.Constant(field), code.func, *code.args)


def _is_there(of: Type, name: str) -> bool:
    """Return whether every valid body has this field: a field that is never null."""
    field = (of.fields or {}).get(name)
    return field is not None and field.kind != "any" and not field.nullable
