"""SQL text with holes: what compiling a query gives, and what marshals into an artifact.

A template is nested tuples of JSON's types:
* `"text"` is SQL, an integer is the parameter at that position,
* `("seq", a, b …)` joins, `("and", …)`, `("or", …)`, `("not", a)` are conditions,
* `("switch", i)` is a condition decided before SQL, by the i-th switch,
* `("if", i, then, other)` is one of two texts, by the i-th switch,
* `("raw", i, sample)` is SQL that the i-th switch holds; only `OrderBy`, `Pages` and `Setter`
  make such texts. With a fourth member the parameter at that position is a list, one for each `?`
  of it.
`bbops.runtime.statements` renders it once per combination of switches.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Template: TypeAlias = str | int | tuple[Any, ...]


def seq(*parts: Template) -> Template:
    """Return the parts one after the other."""
    return ("seq", *parts)


def commas(parts: list[Template]) -> Template:
    """Return the parts with commas between them."""
    return joined(parts, ", ")


def joined(parts: list[Template], separator: str) -> Template:
    """Return the parts with `separator` between them."""
    out: list[Template] = []
    for part in parts:
        out += [separator, part] if out else [part]
    return ("seq", *out)
