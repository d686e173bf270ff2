"""Find the type of an expression, and its mistakes: unknown names, fields, filters, kinds.

Only what fails for every value is a mistake here. Null checks and narrowing belong to the strict
checker that extends this.
"""

from __future__ import annotations

from collections.abc import Iterable

from bbops.diagnostics import article, suggest
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
_MOST_LISTED = 12
_FROM_TEXT = {
    "integer": "toNumber", "number": "toNumber", "decimal": "toNumber", "boolean": "toBoolean",
    "datetime": "toDatetime",
}  # fmt: skip
_TYPED_AS = {
    "int": "toNumber", "float": "toNumber", "number": "toNumber", "str": "toString",
    "string": "toString", "tojson": "json", "size": "length", "count": "length",
    "downcase": "lower", "upcase": "upper", "strip": "trim", "if_null": "default",
    "len": "length", "date_format": "date", "to_json": "json", "from_json": "parseJson",
    "coalesce": "default", "concat": "join", "substring": "slice", "includes": "contains",
}  # fmt: skip


def check_value(value: AnyValue, scope: Scope) -> Type:
    """Return the type of a value in YAML; mistakes go to the scope's report."""
    match value:
        case Constant():
            return _constant(value, scope)
        case Expression():
            return _Checker(scope, value.mark, value.node).infer(value.node)
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
    checker = _Checker(scope, value.mark, None)
    parts = [part for part in value.parts if isinstance(part, s.Node)]
    inner = [checker.infer(part) for part in parts]
    for part, found in zip(parts, inner, strict=True):
        if found.kind in {"list", "map", "binary"}:
            cure = "base64" if found.kind == "binary" else "json"
            message = f"{article(found.kind)} cannot stand inside a text"
            checker.wrong(part.start, "type", message, f"add '| {cure}'")
    return t.concealed(t.TEXT, by=inner)


def _joined(types: Iterable[Type]) -> Type:
    found: Type | None = None
    for one in types:
        found = one if found is None else t.join(found, one)
    return found or t.ANY


class _Checker:
    def __init__(self, scope: Scope, mark: Mark | None, whole: s.Node | None) -> None:
        self.scope, self.mark, self.whole = scope, mark, whole

    def wrong(self, offset: int, code: str, message: str, hint: str = "") -> Type:
        self.scope.wrong.add(id(self.whole))
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
                return self.unary(node)
            case s.Binary():
                return self.binary(node)
            case s.Compare():
                return self.compare(node)
            case s.Logic():
                self.condition(node.left)
                self.condition(node.right)
                return t.BOOLEAN
            case s.Choice():
                self.condition(node.test)
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
        row = self.scope.roots.get("row")
        if row is not None and name in (row.fields or {}):
            return f"write 'row.{name}'"
        names = sorted(option for option in options if option != "auth")
        return suggest(name, names) or "known here: " + ", ".join(names)

    def member(self, node: s.Member) -> Type:
        of = self.infer(node.of)
        if of.fields is None and of.rest is None:
            if of.kind in {"any", "map", "null"}:
                return _hidden(t.ANY, of)
            return self.wrong(
                node.name_start, "no-fields", f"{article(of.kind)} has no field '{node.name}'",
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
        elif what == "env":
            message, code = f"env variable '{name}' is not declared", "unknown-env"
        else:
            message, code = f"{what} has no field '{name}'", "unknown-field"
        hint = suggest(name, of.fields or ()) or self.scope.missing.get(what, "")
        return self.wrong(node.name_start, code, message, hint or _listed(of))

    def index(self, node: s.Index) -> Type:
        of = self.infer(node.of)
        self.infer(node.key)
        if of.kind not in {"list", "map", "any", "null"}:
            return self.wrong(
                node.start, "type", f"'[…]' needs a list or a map, got {of}",
                "parts of a text: '| slice(0, 1)'" if of.kind == "text" else "",
            )  # fmt: skip
        if of.kind == "list":
            return _hidden((of.item or t.ANY).or_null(), of)
        if isinstance(node.key, s.Literal) and isinstance(node.key.value, str) and of.fields:
            return _hidden((of.fields or {}).get(node.key.value, of.rest or t.ANY), of)
        return t.concealed(of.rest or t.ANY, by=[of])

    def condition(self, node: s.Node) -> None:
        found = self.infer(node)
        if found.kind not in {"boolean", "any", "null"}:
            self.wrong(
                node.start, "condition", f"a condition needs true or false, got {found}",
                "compare it, for example with '!= null'",
            )  # fmt: skip

    def unary(self, node: s.Unary) -> Type:
        if node.op == "not":
            self.condition(node.of)
            return t.BOOLEAN
        inner = self.infer(node.of)
        if not t.fits(inner, "number"):
            return self.wrong(node.start, "type", f"'-' needs a number, got {inner}")
        return inner

    def binary(self, node: s.Binary) -> Type:
        left, right = self.infer(node.left), self.infer(node.right)
        found = {left.kind, right.kind}
        if node.op == "-" and "datetime" in found and found <= {"datetime", "any"}:
            return t.NUMBER
        kinds = ("number", "text", "list") if node.op == "+" else ("number",)
        if not any(t.fits(left, kind) and t.fits(right, kind) for kind in kinds):
            return self.wrong(
                node.start, "type", f"'{node.op}' does not fit {left} and {right}",
                _cure(left, right),
            )  # fmt: skip
        if node.op == "/":
            return t.NUMBER if "decimal" not in found else left
        return t.join(left, right)

    def compare(self, node: s.Compare) -> Type:
        left, right = self.infer(node.left), self.infer(node.right)
        if node.op in {"in", "not in"}:
            self.member_of(node, left, right)
        elif not t.comparable(left, right, ordered=node.op not in {"==", "!="}):
            if self.scope.columns is not None and {left.kind, right.kind} == {"date", "text"}:
                return t.BOOLEAN  # a query has no other constant for a column of dates
            message = f"{left} and {right} cannot be compared with '{node.op}'"
            self.wrong(node.start, "type", message, _cure(left, right))
        return t.BOOLEAN

    def member_of(self, node: s.Compare, left: Type, right: Type) -> None:
        if not t.fits(right, "list"):
            hint = "write 'text | contains(part)'" if right.kind == "text" else ""
            self.wrong(node.right.start, "type", f"'in' needs a list, got {right}", hint)
        elif right.item is not None and not t.comparable(left, right.item, ordered=False):
            message = f"{left} is never in a {right}"
            self.wrong(node.start, "type", message, _cure(left, right.item))

    def arity(self, node: s.Filter | s.Call, at: int, least: int, most: int) -> None:
        if not least <= len(node.args) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            kind = "filter" if isinstance(node, s.Filter) else "function"
            word = "argument" if wanted == "1" else "arguments"
            self.wrong(
                at, "argument-count",
                f"{kind} '{node.name}' takes {wanted} {word}, got {len(node.args)}",
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
        wanted = known.takes.split()
        if not any(t.fits(of, kind) for kind in wanted):
            message = f"filter '{node.name}' needs {' or '.join(wanted)}, got {of}"
            cure = "write '(value | toString)'" if t.fits(of, "number") and "text" in wanted else ""
            self.wrong(node.name_start, "type", message, cure)
        return _filtered(node, of, args, known.gives)

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
        usual = node.name if node.name in FILTERS else _TYPED_AS.get(node.name)
        hint = f"write 'value | {usual}'" if usual else ""
        return self.wrong(
            node.start, "unknown-function-call", f"unknown function '{node.name}'",
            hint or suggest(node.name, FUNCTIONS),
        )  # fmt: skip


def _hidden(found: Type, of: Type) -> Type:
    """A part of something private is private."""
    return t.concealed(found, by=[of]) if of.private else found


def _listed(of: Type) -> str:
    names = sorted(of.fields or ())
    return "known here: " + ", ".join(names) if 0 < len(names) <= _MOST_LISTED else ""


def _cure(left: Type, right: Type) -> str:
    """Return the hint for two kinds of which one is text."""
    kinds = {left.kind, right.kind}
    cure = next((cure for kind, cure in _FROM_TEXT.items() if kind in kinds), "")
    return f"add '| {cure}' to the text" if "text" in kinds and cure else ""


def _filtered(node: s.Filter, of: Type, args: list[Type], gives: str) -> Type:
    """Return the type of a filter's result; private values stay private, in whatever form."""
    if of.fields is not None and node.name in {"omit", "pick"}:
        chosen = _chosen(node)
        if chosen is not None:
            keep = node.name == "pick"
            kept = {k: v for k, v in of.fields.items() if (k in chosen) == keep}
            return t.map_of(kept, of.what)
    if of.fields is not None and node.name == "merge" and args and args[0].fields is not None:
        return t.map_of({**of.fields, **args[0].fields})
    if node.name == "pluck" and of.item and of.item.fields and (chosen := _chosen(node)):
        fields = of.item.fields
        return _hidden(t.list_of(fields.get(next(iter(chosen)), t.ANY)), of)
    if node.name == "default":
        return t.join(of.not_null(), args[0]) if args else of.not_null()
    if node.name in _MAY_FAIL:
        return _GIVES[gives].or_null()
    if gives == "same":
        return of
    if gives == "item":
        return _hidden((of.item or t.ANY).or_null(), of)
    if node.name == "length":  # how many members a list has tells none of them
        return _hidden(t.INTEGER, of)
    found = t.list_of(t.ANY) if gives == "list" else _GIVES.get(gives, t.ANY)
    return t.concealed(Type("map") if gives == "map" else found, by=[of, *args])


def _chosen(node: s.Filter) -> set[str] | None:
    """Return the names that a filter was given; None when they are computed."""
    names: set[str] = set()
    for arg in node.args:
        for item in arg.items if isinstance(arg, s.ListOf) else (arg,):
            if not isinstance(item, s.Literal):
                return None
            names.add(str(item.value))
    return names
