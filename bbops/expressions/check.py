"""Find the type of an expression, and its mistakes: unknown names, fields, filters, counts.

Null checks, narrowing and equality between types belong to the strict checker that extends this.
"""

from __future__ import annotations

from collections.abc import Iterable

from bbops.diagnostics import suggest
from bbops.expressions import nodes as s
from bbops.expressions import types as t
from bbops.expressions.scope import Scope
from bbops.expressions.types import Type
from bbops.expressions.values import Broken, Constant, Expression, ListValue, MapValue, Template
from bbops.expressions.values import Value as AnyValue
from bbops.runtime.failures import FlowError
from bbops.runtime.filters import FILTERS, FUNCTIONS
from bbops.runtime.patterns import compile_pattern
from bbops.yaml.document import Mark

_GIVES = {
    "text": t.TEXT, "number": t.NUMBER, "integer": t.INTEGER, "boolean": t.BOOLEAN,
    "datetime": t.DATETIME, "any": t.ANY,
}  # fmt: skip
_MAY_FAIL = frozenset({"toNumber", "toBoolean", "toDatetime"})  # other text gives null
_TYPED_AS = {
    "int": "toNumber", "float": "toNumber", "number": "toNumber", "str": "toString",
    "string": "toString", "tojson": "json", "size": "length", "count": "length",
    "downcase": "lower", "upcase": "upper", "strip": "trim", "if_null": "default",
}  # fmt: skip


def check_value(value: AnyValue, scope: Scope) -> Type:
    """Return the type of a value in YAML; mistakes go to the scope's report."""
    match value:
        case Constant():
            return _constant(value, scope)
        case Expression():
            return _Checker(scope, value.mark).infer(value.node)
        case Template():
            return _template(value, scope)
        case MapValue():
            return t.map_of({key: check_value(item, scope) for key, item in value.items})
        case ListValue():
            return t.list_of(_joined(check_value(item, scope) for item in value.items))
        case Broken():
            problem = value.problem
            scope.report(value.mark, problem.start, problem.code, problem.message, problem.hint)
            return t.ANY


def _constant(value: Constant, scope: Scope) -> Type:
    text = value.value
    if isinstance(text, str) and "{{" in text and "}}" in text:
        inner = text[text.index("{{") + 2 : text.index("}}")].strip()
        scope.report(
            value.mark, text.index("{{"), "double-braces",
            "'{{ }}' is plain text here", f"expressions are written ${{ {inner} }}",
        )  # fmt: skip
    return _type_of_constant(text)


def _type_of_constant(value: object) -> Type:
    kinds = {bool: t.BOOLEAN, int: t.INTEGER, float: t.NUMBER, str: t.TEXT}
    return t.NULL if value is None else kinds.get(type(value), t.ANY)


def _template(value: Template, scope: Scope) -> Type:
    checker = _Checker(scope, value.mark)
    inner = [checker.infer(part) for part in value.parts if isinstance(part, s.Node)]
    private = any(map(t.has_private, inner))
    return Type("text", private=private) if private else t.TEXT


def _joined(types: Iterable[Type]) -> Type:
    found: Type | None = None
    for one in types:
        found = one if found is None else t.join(found, one)
    return found or t.ANY


class _Checker:
    def __init__(self, scope: Scope, mark: Mark | None) -> None:
        self.scope, self.mark = scope, mark

    def wrong(self, offset: int, code: str, message: str, hint: str = "") -> Type:
        self.scope.report(self.mark, offset, code, message, hint)
        return t.ANY

    def infer(self, node: s.Node) -> Type:
        found = self.find(node)
        self.scope.types[id(node)] = found
        return found

    def find(self, node: s.Node) -> Type:
        match node:
            case s.Literal():
                return _type_of_constant(node.value)
            case s.Name():
                return self.name(node)
            case s.Member():
                return self.member(node)
            case s.Index():
                return self.index(node)
            case s.ListOf():
                return t.list_of(_joined([self.infer(item) for item in node.items]))
            case s.Unary():
                inner = self.infer(node.of)
                return t.BOOLEAN if node.op == "not" else inner
            case s.Binary():
                return self.binary(node)
            case s.Compare() | s.Logic():
                self.infer(node.left)
                self.infer(node.right)
                return t.BOOLEAN
            case s.Choice():
                self.infer(node.test)
                return t.join(self.infer(node.then), self.infer(node.other))
            case s.Filter():
                return self.filter(node)
            case s.Call():
                return self.call(node)
            case _:
                raise AssertionError(node)

    def name(self, node: s.Name) -> Type:
        scope, name = self.scope, node.name
        if name in scope.roots:
            return scope.roots[name]
        if name == "vars":
            auth = {"auth": scope.roots["auth"]} if "auth" in scope.roots else {}
            return t.map_of({**scope.vars, **auth}, "vars")
        if scope.columns is not None:
            if name in scope.columns:
                return scope.columns[name]
            return self.wrong(
                node.start, "unknown-column", f"table '{scope.table}' has no column '{name}'",
                self.near(name, [*scope.columns, *scope.roots, "vars"]),
            )  # fmt: skip
        return self.wrong(
            node.start, "unknown-name", f"unknown name '{name}'",
            scope.missing.get(name) or self.near(name, [*scope.roots, "vars"]),
        )  # fmt: skip

    def near(self, name: str, options: list[str]) -> str:
        if name in self.scope.vars:
            return f"write 'vars.{name}'"
        names = sorted(option for option in options if option != "auth")
        return suggest(name, names) or "known here: " + ", ".join(names)

    def member(self, node: s.Member) -> Type:
        of = self.infer(node.of)
        if of.fields is None and of.rest is None:
            if of.kind in {"any", "map", "null"}:
                return _hidden(t.ANY, of)
            return self.wrong(
                node.name_start, "no-fields", f"a {of.kind} has no field '{node.name}'",
                f"filters are written 'value | {node.name}'" if node.name in FILTERS else "",
            )  # fmt: skip
        found = (of.fields or {}).get(node.name, of.rest)
        if found is None:
            return self.unknown_field(node, of)
        found = _hidden(found, of)
        return found.or_null() if node.optional and of.nullable else found

    def unknown_field(self, node: s.Member, of: Type) -> Type:
        what, name = of.what or "this map", node.name
        path = f"{what}.{name}"
        if path in self.scope.missing:
            return self.wrong(
                node.name_start, "maybe-unset", f"'{path}' is not set on every path to this step",
                self.scope.missing[path],
            )  # fmt: skip
        if what == "vars":
            message, code = f"no step before this one sets 'vars.{name}'", "unknown-variable"
        elif what.startswith("table "):
            message, code = f"{what} has no column '{name}'", "unknown-column"
        else:
            message, code = f"{what} has no field '{name}'", "unknown-field"
        hint = suggest(name, of.fields or ()) or self.scope.missing.get(what, "")
        return self.wrong(node.name_start, code, message, hint)

    def index(self, node: s.Index) -> Type:
        of = self.infer(node.of)
        self.infer(node.key)
        if of.kind == "list":
            return (of.item or t.ANY).or_null()
        if isinstance(node.key, s.Literal) and isinstance(node.key.value, str) and of.fields:
            return _hidden((of.fields or {}).get(node.key.value, of.rest or t.ANY), of)
        return _hidden(of.rest or t.ANY, of)

    def binary(self, node: s.Binary) -> Type:
        left, right = self.infer(node.left), self.infer(node.right)
        if node.op == "-" and left.kind == right.kind == "datetime":
            return t.NUMBER
        if node.op == "/":
            return t.NUMBER if "decimal" not in {left.kind, right.kind} else left
        return t.join(left, right)

    def arity(self, node: s.Filter | s.Call, at: int, least: int, most: int) -> None:
        if not least <= len(node.args) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            kind = "filter" if isinstance(node, s.Filter) else "function"
            self.wrong(
                at, "argument-count",
                f"{kind} '{node.name}' takes {wanted} arguments, got {len(node.args)}",
            )  # fmt: skip

    def filter(self, node: s.Filter) -> Type:
        of = self.infer(node.of)
        args = [self.infer(arg) for arg in node.args]
        known = FILTERS.get(node.name)
        if known is None:
            usual = _TYPED_AS.get(node.name)
            hint = f"did you mean '{usual}'?" if usual else suggest(node.name, FILTERS)
            return self.wrong(
                node.name_start, "unknown-filter", f"unknown filter '{node.name}'", hint
            )
        self.arity(node, node.name_start, known.least, known.most)
        self.pattern(node)
        return _hidden(_filtered(node, of, args, known.gives), of)

    def pattern(self, node: s.Filter) -> None:
        """A constant regular expression is compiled now, so a request never meets a bad one."""
        if node.name != "matches" or not node.args or not isinstance(node.args[0], s.Literal):
            return
        try:
            compile_pattern(str(node.args[0].value))
        except FlowError as problem:
            self.wrong(
                node.args[0].start, "bad-pattern", problem.message,
                "patterns are RE2: no look-around, no back-references",
            )  # fmt: skip

    def call(self, node: s.Call) -> Type:
        for arg in node.args:
            self.infer(arg)
        known = FUNCTIONS.get(node.name)
        if known is not None:
            self.arity(node, node.start, known.least, known.most)
            return t.list_of(t.INTEGER) if known.gives == "list" else _GIVES.get(known.gives, t.ANY)
        hint = f"write 'value | {node.name}'" if node.name in FILTERS else ""
        return self.wrong(
            node.start, "unknown-function-call", f"unknown function '{node.name}'",
            hint or suggest(node.name, FUNCTIONS),
        )  # fmt: skip


def _hidden(found: Type, of: Type) -> Type:
    """What comes out of something private is private, except what cannot tell it."""
    if not of.private or found.kind == "boolean":
        return found
    return Type(found.kind, found.nullable, found.item, found.fields, found.rest, private=True)


def _filtered(node: s.Filter, of: Type, args: list[Type], gives: str) -> Type:
    if node.name in {"omit", "pick"} and of.fields is not None:
        return _chosen(node, of)
    if node.name == "default":
        return t.join(of.not_null(), args[0]) if args else of.not_null()
    if node.name in _MAY_FAIL:
        return _GIVES[gives].or_null()
    if gives == "same":
        return of
    if gives == "item":
        return (of.item or t.ANY).or_null()
    if gives in {"list", "map"}:
        return Type(gives, item=t.ANY if gives == "list" else None, private=t.has_private(of))
    return _GIVES.get(gives, t.ANY)


def _chosen(node: s.Filter, of: Type) -> Type:
    names: set[str] = set()
    for arg in node.args:
        for item in arg.items if isinstance(arg, s.ListOf) else (arg,):
            if not isinstance(item, s.Literal):
                return Type("map", private=t.has_private(of))
            names.add(str(item.value))
    keep = node.name == "pick"
    return t.map_of({k: v for k, v in (of.fields or {}).items() if (k in names) == keep}, of.what)
