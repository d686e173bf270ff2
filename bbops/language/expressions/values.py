"""Read the content of a YAML value: constants, `${ expressions }`, text around them.

Reading never raises: an unreadable part becomes `Broken`, which the check reports at its exact
place. So a file with three mistakes gives three diagnostics.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import PlainValidator

from bbops.base.diagnostics import Hint, ReplaceValue
from bbops.base.model import NULL_IS_A_VALUE
from bbops.language.expressions.nodes import Literal, Node
from bbops.language.expressions.syntax import SyntaxProblem, parse
from bbops.source.yaml.document import Map, Mark, Seq, Text


class Holder:
    """The value of a step's field that contains expressions and is not a model."""

    __slots__ = ()

    def held(self) -> tuple[Any, ...]:
        """Return the content: expressions, models, or other holders."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A value without expressions."""

    value: Any
    mark: Mark | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """An expression, bare or as a whole `${ … }`: keeps its native type."""

    node: Node
    mark: Mark | None = None
    text: str = ""
    """The source text of a bare expression."""


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """Text with expressions inside, which always gives text."""

    parts: tuple[str | Node, ...]
    mark: Mark | None = None


@dataclass(frozen=True, slots=True, eq=False)
class MapValue:
    """A map of values."""

    items: tuple[tuple[str, Value], ...]
    mark: Mark | None = None
    keys_at: dict[str, Mark] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ListValue:
    """A list of values."""

    items: tuple[Value, ...]
    mark: Mark | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Broken:
    """An unreadable part, and the reason."""

    problem: SyntaxProblem
    mark: Mark | None = None


Value = Constant | Expression | Template | MapValue | ListValue | Broken
Bare = Expression | Broken


def read_value(data: Any) -> Value:
    """Return the Value of YAML data of any shape."""
    return _read(data, None)


def _read(data: Any, mark: Mark | None) -> Value:
    """Return a Value; `mark` is the place of a number or another scalar without its own mark."""
    if isinstance(data, str):
        return _read_text(data)
    if isinstance(data, Map):
        items = tuple((str(key), _read(item, data.values_at[key])) for key, item in data.items())
        return MapValue(items, data.mark, data.keys_at)
    if isinstance(data, dict):
        return MapValue(tuple((str(key), _read(item, None)) for key, item in data.items()))
    if isinstance(data, Seq):
        members = zip(data, data.items_at, strict=True)
        return ListValue(tuple(_read(item, at) for item, at in members), data.mark)
    if isinstance(data, list):
        return ListValue(tuple(_read(item, None) for item in data))
    return Constant(data, mark)


def read_bare(data: Any) -> Bare:
    """Return the expression of a field that takes an expression without `${ }`, such as `if`."""
    mark = data.mark if isinstance(data, Text | Map | Seq) else None
    if isinstance(data, bool | int | float) or data is None:
        return Expression(Literal(0, 0, data), mark, json.dumps(data))
    if not isinstance(data, str):
        return Broken(_not_bare(data), mark)
    try:
        _refuse_braces(data)
        return Expression(parse(data), mark, str(data))
    except SyntaxProblem as problem:
        return Broken(problem, mark)


def _not_bare(data: Any) -> SyntaxProblem:
    if isinstance(data, list):
        return SyntaxProblem("expected an expression, got a list", 0, 1, "write ([1, 2])")
    return SyntaxProblem("expected an expression, got a map", 0, 1)


_BRACES = re.compile(r"(\$\{|\{\{)\s*(.*?)\s*\}+")


def _refuse_braces(text: str) -> None:
    """Refuse a half-templated condition, which would always be true; LANGUAGE.md section 5."""
    found = _BRACES.search(text)
    if found is None:
        return
    meant, at = _BRACES.sub(r"\2", text.strip()), found.start()
    hint = Hint(f"write: {meant}", ReplaceValue(meant))
    if found[1] == "{{":
        message = "'{{ }}' is not supported; this field is already an expression"
        raise SyntaxProblem(message, at, at + 2, hint, "double-braces")
    message = "this field is already an expression; remove '${ }'"
    raise SyntaxProblem(message, at, at + 2, hint, "bare-expression")


def _read_text(text: str) -> Value:
    mark = text.mark if isinstance(text, Text) else None
    if "${" not in text:
        return Constant(str(text), mark)
    try:
        parts = tuple(_split(text))
        if len(parts) == 1 and not isinstance(parts[0], str):
            return Expression(parts[0], mark)
        if all(isinstance(part, str) for part in parts):
            return Constant("".join(map(str, parts)), mark)
        return Template(parts, mark)
    except SyntaxProblem as problem:
        return Broken(problem, mark)


def _split(text: str) -> Iterator[str | Node]:
    """Yield literal texts and the nodes of each `${ … }`; `$${` is a literal `${`."""
    at, literal = 0, ""
    while (start := text.find("${", at)) >= 0:
        if start > at - 1 and start > 0 and text[start - 1] == "$":
            literal += text[at : start - 1] + "${"
            at = start + 2
            continue
        if literal := literal + text[at:start]:
            yield literal
        literal = ""
        end = _closing(text, start)
        yield parse(text[start + 2 : end], start + 2)
        at = end + 1
    if literal := literal + text[at:]:
        yield literal


def _closing(text: str, start: int) -> int:
    """Return the offset of the `}` that ends the `${` at `start`; braces in quotes do not count."""
    quoted, at = False, start + 2
    while at < len(text):
        char = text[at]
        if quoted and char == "\\":
            at += 1
        elif char == "'":
            quoted = not quoted
        elif char == "}" and not quoted:
            return at
        at += 1
    raise SyntaxProblem(
        "'${' is not closed", start, len(text),
        "in YAML without quotes ' #' starts a comment and ': ' a key; quote the whole value",
    )  # fmt: skip


ValueField = Annotated[Value, PlainValidator(read_value), NULL_IS_A_VALUE]
"""A pydantic field for any value, with expressions."""

BareField = Annotated[Bare, PlainValidator(read_bare)]
"""A pydantic field for one expression without `${ }`."""
