"""Parse an expression into a tree of nodes.

The grammar has no `:`, `#`, `!` or `{}`, so YAML rarely needs quotes around it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from bbops.base.diagnostics import Hint, ReplaceWord
from bbops.language.expressions.nodes import (  # fmt: skip
    Arrow,
    Binary,
    Choice,
    Compare,
    Filter,
    FunctionCall,
    ItemAccess,
    ListOf,
    Literal,
    Logic,
    Member,
    Name,
    Node,
    Unary,
    levels_of,
)

MAX_DEPTH = 50
"""The deepest nesting of parentheses, operators and calls."""

MAX_LEVELS = 260
"""The deepest tree: with `MAX_DEPTH` it keeps every walk below Python's stack limit."""

MAX_TOKENS = 4_000


class SyntaxProblem(Exception):
    """The text is not an expression; `start` and `end` are offsets in the scalar."""

    def __init__(
        self, message: str, start: int, end: int, hint: str = "", code: str = "expression-syntax"
    ) -> None:
        super().__init__(message)
        self.message, self.start, self.end, self.hint, self.code = message, start, end, hint, code


_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)"
    r"|(?P<text>'(?:[^'\\]|\\.)*')"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<op>\?\.|=>|==|!=|<=|>=|\|\||&&|\*\*|//|[-+*/%<>()\[\],.|!?:={}]))",
    re.DOTALL,
)
_WORDS = frozenset({"and", "or", "not", "in", "if", "else", "true", "false", "null"})
_CONSTANTS = {"true": True, "false": False, "null": None}
_WRONG = {
    "&&": Hint("write 'and'", ReplaceWord("&&", "and")),
    "||": Hint("write 'or'", ReplaceWord("||", "or")),
    "!": Hint("write 'not'", ReplaceWord("!", "not")),
    "=": Hint("write '==' to compare", ReplaceWord("=", "==")),
    "?": "write 'a if condition else b'",
    ":": "write 'a if condition else b'",
    "{": "build maps in YAML, one key per line; 'loop' with 'collect' builds a list of maps",
    "}": "build maps in YAML, one key per line; 'loop' with 'collect' builds a list of maps",
    "**": "there is no power operator",
    "//": "write '(a / b) | floor'",
}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


def parse(source: str, base: int = 0) -> Node:
    """Return the tree of `source`, which begins `base` characters into its scalar.

    Raises:
        SyntaxProblem: with offsets that already count `base`. Linear in the length.
    """
    return _Parser(_tokens(source, base)).whole()


def _too_long(start: int, end: int) -> SyntaxProblem:
    hint = "move its parts into variables"
    return SyntaxProblem("the expression is too long", start, end, hint)


def _tokens(source: str, base: int) -> list[_Token]:
    found: list[_Token] = []
    at, end = 0, len(source.rstrip())
    while at < end:
        match = _TOKEN.match(source, at)
        if match is None:
            raise _unreadable(source, at, base)
        kind = match.lastgroup or ""
        text, start = match[kind], base + match.start(kind)
        at = match.end()
        if kind == "op" and text in _WRONG:
            message = f"'{text}' is not an operator"
            if text in {"{", "}"}:
                message = f"an expression cannot contain a map: unexpected '{text}'"
            raise SyntaxProblem(message, start, start + len(text), _WRONG[text])
        if kind == "name" and text in _WORDS:
            kind = "word"
        found.append(_Token(kind, text, start, base + at))
        if len(found) > MAX_TOKENS:
            raise _too_long(start, base + at)
    found.append(_Token("end", "", base + end, base + end))
    return found


def _unreadable(source: str, at: int, base: int) -> SyntaxProblem:
    start = at + len(source[at:]) - len(source[at:].lstrip())
    char = source[start]
    if char == "'":
        return SyntaxProblem("the text has no closing quote", base + start, base + len(source))
    hint = "write texts in single quotes: 'like this'" if char in '"`' else ""
    return SyntaxProblem(f"unexpected '{char}'", base + start, base + start + 1, hint)


class _Parser:
    """Recursive descent, loosest binding first; depth is bounded by MAX_DEPTH."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens, self.at, self.depth = tokens, 0, 0
        self.closed: Node | None = None  # the node that stood in parentheses last

    def whole(self) -> Node:
        if self.peek.kind == "end":
            raise SyntaxProblem("the expression is empty", self.peek.start, self.peek.start + 1)
        node = self.choice()
        if self.peek.kind != "end":
            raise self.unexpected(self.peek)
        if levels_of(node) > MAX_LEVELS:
            raise _too_long(node.start, node.end)
        return node

    @property
    def peek(self) -> _Token:
        return self.tokens[self.at]

    def next(self) -> _Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def is_next(self, *texts: str) -> bool:
        return self.peek.kind in {"op", "word"} and self.peek.text in texts

    def expect(self, text: str) -> _Token:
        if not self.is_next(text):
            token = self.peek
            found = f"before '{token.text}'" if token.text else "before the end"
            raise SyntaxProblem(f"expected '{text}' {found}", token.start, token.end + 1)
        return self.next()

    def unexpected(self, token: _Token) -> SyntaxProblem:
        if token.kind == "end":
            return SyntaxProblem("the expression is incomplete", token.start, token.start + 1)
        hint = "compare two values at a time and join with 'and'" if token.text in "<=>=!=" else ""
        if token.text == "=>":
            hint = "write '>=' to compare; 'row => row.name' is an argument of a filter of lists"
        return SyntaxProblem(f"unexpected '{token.text}'", token.start, token.end, hint)

    def choice(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise SyntaxProblem(
                "the expression is nested too deeply",
                self.peek.start,
                self.peek.end,
                "move a part of it into a variable",
            )
        node = self.either()
        if self.is_next("if"):
            self.next()
            test = self.either()
            self.expect("else")
            other = self.choice()
            self.refuse_filter(other, "else")
            node = Choice(node.start, other.end, test, node, other)
        self.depth -= 1
        return node

    def either(self) -> Node:
        node = self.both()
        while self.is_next("or"):
            self.next()
            right = self.both()
            node = Logic(node.start, right.end, "or", node, right)
        return node

    def both(self) -> Node:
        node = self.negation()
        while self.is_next("and"):
            self.next()
            right = self.negation()
            node = Logic(node.start, right.end, "and", node, right)
        return node

    def negation(self) -> Node:
        signs: list[_Token] = []
        while self.is_next("not"):
            signs.append(self.next())
        node = self.comparison()
        for sign in reversed(signs):
            node = Unary(sign.start, node.end, "not", node)
        return node

    def comparison(self) -> Node:
        node = self.sum()
        if self.is_next("==", "!=", "<", "<=", ">", ">=", "in"):
            op = self.next().text
        elif self.is_next("not") and self.tokens[self.at + 1].text == "in":
            self.at += 2
            op = "not in"
        else:
            return node
        right = self.sum()
        if self.is_next("==", "!=", "<", "<=", ">", ">="):
            raise self.unexpected(self.peek)
        return Compare(node.start, right.end, op, node, right)

    def sum(self) -> Node:
        node = self.product()
        while self.is_next("+", "-"):
            op = self.next().text
            right = self.product()
            self.refuse_filter(right, op)
            node = Binary(node.start, right.end, op, node, right)
        return node

    def product(self) -> Node:
        node = self.sign()
        while self.is_next("*", "/", "%"):
            op = self.next().text
            right = self.sign()
            self.refuse_filter(right, op)
            node = Binary(node.start, right.end, op, node, right)
        return node

    def refuse_filter(self, node: Node, op: str) -> None:
        """Refuse `a + b | f`, which is ambiguous; LANGUAGE.md section 5 requires parentheses."""
        if isinstance(node, Filter) and node is not self.closed:
            before = {"else": "a if c else ", "-a": "-"}.get(op, f"a {op} ")
            last = "a" if op == "-a" else "b"
            raise SyntaxProblem(
                f"it is ambiguous what '| {node.name}' belongs to",
                node.name_start,
                node.name_start + len(node.name),
                f"write '({before}{last}) | {node.name}' or '{before}({last} | {node.name})'",
                "precedence",
            )

    def sign(self) -> Node:
        if not self.is_next("-"):
            return self.filtered()
        minus = self.next()
        if self.peek.kind == "number":
            token = self.next()
            return self.filters(Literal(minus.start, token.end, _number(token, sign=-1)))
        node = self.filtered()
        self.refuse_filter(node, "-a")
        return Unary(minus.start, node.end, "-", node)

    def filtered(self) -> Node:
        return self.filters(self.postfix())

    def filters(self, node: Node) -> Node:
        links = 0
        while self.is_next("|"):
            self.next()
            name = self.next()
            links += 1
            if name.kind != "name" or links > MAX_DEPTH:
                raise SyntaxProblem(
                    "expected the name of a filter after '|'", name.start, name.end + 1
                )
            args, end = self.arguments() if self.is_next("(") else ((), name.end)
            node = Filter(node.start, end, name.text, node, args, name.start)
        return node

    def arguments(self) -> tuple[tuple[Node, ...], int]:
        self.expect("(")
        return self.members(")")

    def argument(self) -> Node:
        """Return an argument: `name => body` and `(name, place) => body` are arrow functions."""
        most = self.at + 5  # of `(name, place)`
        ahead = [token.text for token in self.tokens[self.at : most + 1]]
        size = 1 if self.peek.kind == "name" else ahead.index(")") + 1 if ")" in ahead[:5] else 0
        if not size or ahead[size : size + 1] != ["=>"] or not self.may_name(size):
            return self.choice()
        names = [self.next() for _ in range(size)]
        names = [token for token in names if token.kind == "name"]
        self.next()
        body = self.choice()
        return Arrow(
            names[0].start, body.end, tuple(token.text for token in names),
            tuple(token.start for token in names), body,
        )  # fmt: skip

    def may_name(self, size: int) -> bool:
        """Return whether the next tokens are a name, or one or two names in parentheses."""
        kinds = [
            token.kind if token.kind == "name" else token.text
            for token in self.tokens[self.at : self.at + size]
        ]
        return kinds in (["name"], ["(", "name", ")"], ["(", "name", ",", "name", ")"])

    def members(self, closing: str) -> tuple[tuple[Node, ...], int]:
        items: list[Node] = []
        while not self.is_next(closing):
            items.append(self.argument() if closing == ")" else self.choice())
            if self.is_next(","):
                self.next()
            elif not self.is_next(closing):
                self.expect(closing)
        return tuple(items), self.next().end

    def postfix(self) -> Node:
        node = self.primary()
        links = 0
        while self.is_next(".", "?.", "["):
            links += 1
            if links > MAX_DEPTH:
                raise self.unexpected(self.peek)
            op = self.next()
            if op.text == "[":
                key = self.choice()
                node = ItemAccess(node.start, self.expect("]").end, node, key)
                continue
            name = self.next()
            if name.kind not in {"name", "word"}:
                raise SyntaxProblem(f"expected a name after '{op.text}'", name.start, name.end + 1)
            if self.is_next("("):
                raise SyntaxProblem(
                    f"'{name.text}' cannot be called: there are no methods",
                    name.start,
                    name.end,
                    f"filters are written 'value | {name.text}'",
                )
            node = Member(node.start, name.end, node, name.text, op.text == "?.", name.start)
        return node

    def primary(self) -> Node:
        token = self.next()
        if token.kind == "number":
            return Literal(token.start, token.end, _number(token))
        if token.kind == "text":
            return Literal(token.start, token.end, _unescape(token.text[1:-1]))
        if token.kind == "word" and token.text in _CONSTANTS:
            return Literal(token.start, token.end, _CONSTANTS[token.text])
        if token.kind == "name":
            if not self.is_next("("):
                return Name(token.start, token.end, token.text)
            args, end = self.arguments()
            return FunctionCall(token.start, end, token.text, args)
        if token.text == "(" and token.kind == "op":
            node = self.choice()
            self.expect(")")
            self.closed = node
            return node
        if token.text == "[" and token.kind == "op":
            items, end = self.members("]")
            return ListOf(token.start, end, items)
        raise self.unexpected(token)


def _number(token: _Token, sign: int = 1) -> int | float:
    is_whole = token.text.isdigit()  # 20 digits are too large already, and quick to read
    value = sign * (int(token.text.lstrip("0")[:20] or 0) if is_whole else float(token.text))
    if not (-(2**63) <= value < 2**63 if is_whole else math.isfinite(value)):
        raise SyntaxProblem("the number is too large", token.start, token.end, "use a text")
    return value


def _unescape(body: str) -> str:
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), body, flags=re.DOTALL)
