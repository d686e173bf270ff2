"""SQL text with holes: what compiling a query gives, and what marshals into an artifact.

A template is nested tuples of JSON's types:
* `"text"` is SQL, an integer is the parameter at that position,
* `("seq", a, b …)` joins, `("and", …)`, `("or", …)`, `("not", a)` are conditions,
* `("switch", i)` is a condition decided before SQL, by the i-th switch,
* `("if", i, then, other)` is one of two texts, by the i-th switch,
* `("raw", i, sample)` is SQL that the i-th switch holds; only `OrderBy`, `Pages` and `Setter`
  make such texts. With a fourth member the parameter at that position is a list, one for each `?`
  of it.
`bbops.runtime.data.statements` renders it once per combination of switches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

Template: TypeAlias = str | int | tuple[Any, ...]


def seq(*parts: Template) -> Template:
    """Return the parts one after the other."""
    return ("seq", *parts)


def commas(parts: Sequence[Template]) -> Template:
    """Return the parts with commas between them."""
    return joined(parts, ", ")


def joined(parts: Sequence[Template], separator: str) -> Template:
    """Return the parts with `separator` between them."""
    out: list[Template] = []
    for part in parts:
        out += [separator, part] if out else [part]
    return ("seq", *out)


def filled(pattern: str, parts: Sequence[Template]) -> Template:
    """Fill `{0}`, `{1}` … of a pattern; a part may stand in it more than once."""
    out: list[Template] = []
    for at, piece in enumerate(pattern.replace("}", "{").split("{")):
        if at % 2:
            out.append(parts[int(piece)])
        elif piece:
            out.append(piece)
    return ("seq", *out)
