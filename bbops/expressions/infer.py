"""Find the type of each part of an expression, and what is wrong with it.

A mistake is reported once: what stands around it has the type `any`, of which nothing is wrong.
"""

from __future__ import annotations

from bbops.diagnostics import article, suggest
from bbops.expressions import nodes as s
from bbops.expressions import types as t
from bbops.expressions.filters import check_call, check_filter
from bbops.expressions.known import Facts
from bbops.expressions.narrow import outcomes, path_of, reads_row, spelt
from bbops.expressions.related import RELATED, related_scope
from bbops.expressions.scope import SIGNED_IN, Scope
from bbops.expressions.types import Type
from bbops.runtime.filters import FILTERS
from bbops.yaml.document import Mark

_MOST_LISTED = 12
_FROM_TEXT = {
    "integer": "toNumber", "number": "toNumber", "decimal": "toNumber", "boolean": "toBoolean",
    "datetime": "toDatetime",
}  # fmt: skip
_TIMES = frozenset({"datetime", "any", "null"})
_TRUE_OR_FALSE = "write '== true', or add '| default(false)'"


class Inference:
    """Walks one scalar's expressions; every node's type goes to the scope."""

    def __init__(self, scope: Scope, mark: Mark | None, whole: s.Node | None) -> None:
        self.scope, self.mark, self.whole = scope, mark, whole

    def wrong(
        self, offset: int, code: str, message: str, hint: str = "", *, hides: bool = False
    ) -> Type:
        """Report a mistake and return the type of what it stands in."""
        self.scope.wrong.add(id(self.whole))
        self.scope.report(self.mark, offset, code, message, hint)
        return t.mistaken(hides=hides)

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
                return type_of_constant(node.value)
            case s.Name():
                return self.narrowed(node, self.name(node))
            case s.Member():
                return self.narrowed(node, self.member(node))
            case s.Index():
                return self.narrowed(node, self.index(node))
            case s.ListOf():
                return t.list_of(t.joined([self.infer(item) for item in node.items]))
            case s.Unary():
                return self.unary(node)
            case s.Binary():
                return self.binary(node)
            case s.Compare():
                return self.compare(node)
            case s.Logic():
                yes, no = self.condition(node.left)
                with self.scope.knowing(yes if node.op == "and" else no):
                    self.condition(node.right)
                return t.BOOLEAN
            case s.Choice():
                return self.choice(node)
            case s.Filter():
                return check_filter(self, node)
            case s.Call():
                return self.related(node) if self.asks_related(node) else check_call(self, node)
            case _:
                raise AssertionError(node)

    # ---- relations
    def asks_related(self, node: s.Call) -> bool:
        """Return whether a call asks for the rows that refer to a query's row."""
        return node.name in RELATED and self.scope.related is not None

    def related(self, node: s.Call) -> Type:
        scope, known = self.scope, self.scope.known
        if not 1 <= len(node.args) <= 2:
            message = f"function '{node.name}' takes 1 to 2 arguments, got {len(node.args)}"
            return self.wrong(node.start, "argument-count", message)
        facts = known.facts
        known.facts = {path: fact for path, fact in facts.items() if path[0] != "row"}
        inner = related_scope(scope, node)
        if isinstance(inner, str):
            message = f"'{node.name}' needs a relation of table '{scope.table}' to many rows"
            self.wrong(node.args[0].start, "relation", message, inner)
        elif len(node.args) == 2:
            Inference(inner, self.mark, self.whole).condition(node.args[1])
        known.facts = facts
        return RELATED[node.name]

    # ---- null
    def narrowed(self, node: s.Node, of: Type) -> Type:
        """Return the type of a value that is read, as far as conditions say more of it."""
        known = self.scope.known
        if not known.facts and not known.blamed:
            return of
        path = path_of(node, self.scope)
        return of if path is None else known.narrowed(path, of)

    def solid(self, node: s.Node, by: str, hint: str = "") -> Type:
        """Return the type of a part that may not be null, and report it where null is possible."""
        return self.without_null(node, self.infer(node), by, hint)

    def without_null(
        self, node: s.Node, of: Type, by: str, hint: str = "", *, at: int | None = None
    ) -> Type:
        """Report a part of which null is possible; `by` says what does not take it."""
        if not t.may_be_null(of):
            return of
        path = path_of(node, self.scope)
        name, usual = "this", "add '| default(…)'"
        if path is not None:
            self.scope.known.blamed.add(path)
            spelling = spelt(path, self.scope)
            name, usual = f"'{spelling}'", f"{usual}, or check '{spelling} != null' first"
        message, hint = f"{name} may be null, and {by} takes no null", hint or usual
        if of.kind == "null":
            message, hint = f"{name} is null, and {by} takes no null", ""
        return self.wrong(
            node.start if at is None else at, "maybe-null", message, hint, hides=of.hides
        )

    def condition(self, node: s.Node) -> tuple[Facts, Facts]:
        """Check a condition; return what is proved where it holds, and where it does not."""
        found = self.infer(node)
        if t.fits(found, "boolean"):
            self.without_null(node, found, "a condition", _TRUE_OR_FALSE)
        else:
            self.wrong(
                node.start, "condition", f"a condition needs true or false, got {found}",
                "compare it, for example with '!= null'",
            )  # fmt: skip
        return outcomes(node, self.scope)

    def choice(self, node: s.Choice) -> Type:
        yes, no = self.condition(node.test)
        with self.scope.knowing(yes):
            then = self.infer(node.then)
        with self.scope.knowing(no):
            other = self.infer(node.other)
        return t.join(then, other)

    # ---- names
    def name(self, node: s.Name) -> Type:
        scope, name = self.scope, node.name
        if name in scope.roots:
            return scope.roots[name]
        if name == "vars":
            scope.reads.update(scope.known.vars)
            return self.variables()
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

    def variables(self) -> Type:
        scope = self.scope
        auth = {name: scope.roots[name] for name in SIGNED_IN if name in scope.roots}
        return t.map_of({**scope.known.vars, **auth}, "vars")

    def near(self, name: str, options: list[str]) -> str:
        if name in self.scope.known.vars:
            return f"write 'vars.{name}'"
        row = self.scope.roots.get("row")
        if row is not None and name in (row.fields or {}):
            return f"write 'row.{name}'"
        names = sorted(option for option in options if option not in SIGNED_IN)
        return suggest(name, names) or "known here: " + ", ".join(names)

    def variable(self, node: s.Member) -> Type:
        """Return the type of `vars.<name>`."""
        scope, name = self.scope, node.name
        scope.reads.add(name)
        if name in SIGNED_IN and name in scope.roots:
            return scope.roots[name]
        if name in scope.known.vars:
            return scope.known.vars[name]
        if ("vars", name) in scope.known.blamed or not scope.is_complete:
            return t.NEVER
        scope.known.blamed.add(("vars", name))  # said once, though it be read often
        if name in scope.known.unset:
            return self.unset(node, name, scope.known.unset[name])
        return self.unknown_field(node, self.variables())

    def unset(self, node: s.Member, name: str, why: str) -> Type:
        message = f"'vars.{name}' is not set on every path to this step"
        return self.wrong(node.name_start, "maybe-unset", message, why)

    def member(self, node: s.Member) -> Type:
        if isinstance(node.of, s.Name) and node.of.name == "vars":
            self.scope.types[id(node.of)] = Type("map", what="vars")
            return self.variable(node)
        of = self.infer(node.of)
        if of.kind in {"any", "null", "map"} and of.fields is None and of.rest is None:
            found: Type | None = t.ANY
        elif of.kind != "map":
            return self.wrong(
                node.name_start, "no-fields", f"{article(of.kind)} has no field '{node.name}'",
                f"filters are written 'value | {node.name}'" if node.name in FILTERS else "",
                hides=of.hides,
            )  # fmt: skip
        else:
            found = (of.fields or {}).get(node.name, of.rest)
        if found is None:
            return self.unknown_field(node, of)
        found = _hidden(found, of).as_read()
        if node.optional:
            return found.or_null() if of.nullable else found
        return self.member_of_null(node, of, found)

    def member_of_null(self, node: s.Member, of: Type, found: Type) -> Type:
        if not t.may_be_null(of):
            return found
        path, hint = path_of(node.of, self.scope), f"write '?.{node.name}'"
        if path is not None:
            hint += f", or check '{spelt(path, self.scope)} != null' first"
        self.without_null(node.of, of, f"'.{node.name}'", hint, at=node.name_start)
        return t.mistaken(hides=found.hides)

    def unknown_field(self, node: s.Member, of: Type) -> Type:
        what, name = of.what or "this map", node.name
        if what == "vars" and (why := self.scope.missing.get(f"vars.{name}")):
            return self.unset(node, name, why)
        if what == "vars":
            message, code = f"no step before this one sets 'vars.{name}'", "unknown-variable"
        elif what.startswith("table "):
            message, code = f"{what} has no column '{name}'", "unknown-column"
        elif what == "env":
            message, code = f"env variable '{name}' is not declared", "unknown-env"
        else:
            message, code = f"{what} has no field '{name}'", "unknown-field"
        hint = suggest(name, of.fields or ()) or self.scope.missing.get(what, "")
        return self.wrong(node.name_start, code, message, hint or _listed(of), hides=of.private)

    def index(self, node: s.Index) -> Type:
        key = node.key.value if isinstance(node.key, s.Literal) else None
        if isinstance(node.of, s.Name) and node.of.name == "vars" and isinstance(key, str):
            start = node.key.start
            return self.member(s.Member(node.start, node.end, node.of, key, False, start))  # noqa: FBT003 - a node's parts
        of = self.solid(node.of, "'[…]'")
        found = self.solid(node.key, "'[…]'")
        if of.kind not in {"list", "map", "any", "null"}:
            return self.wrong(
                node.start, "type", f"'[…]' needs a list or a map, got {of}",
                "parts of a text: '| slice(0, 1)'" if of.kind == "text" else "", hides=of.hides,
            )  # fmt: skip
        wanted = {"list": "integer", "map": "text"}.get(of.kind, "any")
        if not t.fits(found, wanted):
            message = f"{article(of.kind)} takes {wanted} in '[…]', got {found}"
            return self.wrong(node.key.start, "type", message, hides=of.hides)
        if of.kind == "list":
            return _hidden((of.item or t.ANY).or_null(), of)
        if isinstance(key, str) and of.fields:
            return _hidden(of.fields.get(key, of.rest or t.ANY), of).as_read()
        return t.concealed(of.rest or t.ANY, by=[of])

    # ---- operators
    def unary(self, node: s.Unary) -> Type:
        if node.op == "not":
            self.condition(node.of)
            return t.BOOLEAN
        inner = self.infer(node.of)
        if not t.fits(inner, "number"):
            return self.wrong(
                node.start, "type", f"'-' needs a number, got {inner}", hides=inner.hides
            )
        return self.without_null(node.of, inner, "'-'").not_null()

    def binary(self, node: s.Binary) -> Type:
        left, right = self.infer(node.left), self.infer(node.right)
        found = {left.kind, right.kind}
        are_times = node.op == "-" and "datetime" in found and found <= _TIMES
        kinds = ("number", "text", "list") if node.op == "+" else ("number",)
        if not are_times and not any(t.fits(left, k) and t.fits(right, k) for k in kinds):
            return self.wrong(
                node.start, "type", f"'{node.op}' does not fit {left} and {right}",
                cure(left, right), hides=left.hides or right.hides,
            )  # fmt: skip
        left, right = self.both(node, left, right)
        if are_times:
            return t.concealed(t.NUMBER, by=[left, right])
        if "decimal" in found:
            return t.concealed(Type("decimal"), by=[left, right])
        if node.op == "/":
            return t.concealed(t.NUMBER, by=[left, right])
        return t.join(left, right).not_null()

    def both(self, node: s.Binary | s.Compare, left: Type, right: Type) -> tuple[Type, Type]:
        """Return the types of two sides that may not be null."""
        by = f"'{node.op}'"
        left = self.without_null(node.left, left, by)
        return left, self.without_null(node.right, right, by)

    def compare(self, node: s.Compare) -> Type:
        left, right = self.infer(node.left), self.infer(node.right)
        is_ordered = node.op not in {"==", "!="}
        if node.op in {"in", "not in"}:
            self.member_of(node, left, right)
        elif not t.comparable(left, right, ordered=is_ordered):
            if "row" in self.scope.roots and {left.kind, right.kind} == {"date", "text"}:
                return t.BOOLEAN  # a query has no other constant for a column of dates
            message = f"{left} and {right} cannot be compared with '{node.op}'"
            self.wrong(node.start, "type", message, cure(left, right))
        elif is_ordered:
            self.both(node, left, right)
        else:
            self.match_null(node, left, right)
        return t.BOOLEAN

    def match_null(self, node: s.Compare, left: Type, right: Type) -> None:
        """In a query, two values that may both be null match rows that nobody meant."""
        if not (left.nullable and right.nullable) or "row" not in self.scope.roots:
            return
        if any(isinstance(one, s.Literal) for one in (node.left, node.right)):
            return
        is_left, is_right = (reads_row(one, self.scope) for one in (node.left, node.right))
        if is_left == is_right:
            return
        value = node.right if is_left else node.left
        path = path_of(value, self.scope)
        name = f"'{spelt(path, self.scope)}'" if path else "this value"
        check = f"check {name} for null first"
        if path:
            check = f"check '{spelt(path, self.scope)} != null' first"
        self.wrong(
            value.start, "null-match", f"{name} may be null, and would match every row without one",
            f"{check}, or compare with 'null'",
        )  # fmt: skip

    def member_of(self, node: s.Compare, left: Type, right: Type) -> None:
        if not t.fits(right, "list"):
            hint = "write 'text | contains(part)'" if right.kind == "text" else ""
            self.wrong(node.right.start, "type", f"'in' needs a list, got {right}", hint)
        elif right.item is not None and not t.comparable(left, right.item, ordered=False):
            message = f"{left} is never in a {right}"
            self.wrong(node.start, "type", message, cure(left, right.item))
        else:
            self.without_null(node.right, right, f"'{node.op}'")


def type_of_constant(value: object) -> Type:
    """Return the type of a value that stands in the file itself."""
    kinds = {bool: t.BOOLEAN, int: t.INTEGER, float: t.NUMBER, str: t.TEXT}
    return t.NULL if value is None else kinds.get(type(value), t.ANY)


def conversion(found: Type, wanted: Type) -> str:
    """Return the hint for a value whose kind is not the wanted one."""
    if found.kind == "text" and wanted.kind in _FROM_TEXT:
        return f"add '| {_FROM_TEXT[wanted.kind]}'"
    return "add '| toString'" if wanted.kind == "text" and found.kind in _FROM_TEXT else ""


def _hidden(found: Type, of: Type) -> Type:
    """A part of something private is private."""
    return t.concealed(found, by=[of]) if of.private else found


def _listed(of: Type) -> str:
    names = sorted(of.fields or ())
    return "known here: " + ", ".join(names) if 0 < len(names) <= _MOST_LISTED else ""


def cure(left: Type, right: Type) -> str:
    """Return the hint for two kinds of which one is text and does not fit the other."""
    kinds = {left.kind, right.kind}
    found = next((found for kind, found in _FROM_TEXT.items() if kind in kinds), "")
    return f"add '| {found}' to the text" if "text" in kinds and found else ""
