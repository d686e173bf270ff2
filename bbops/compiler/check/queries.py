"""Fields of a query have one level, and what refuses undeclared names declares all that is read."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.base.diagnostics import Diagnostic
from bbops.base.names import title_of
from bbops.compiler.check._checked import CheckedProject
from bbops.language.expressions.inside import read_names
from bbops.language.project import Resource, Route
from bbops.language.resources.function import Function
from bbops.language.shape import Field


def check(project: CheckedProject) -> Iterator[Diagnostic]:
    """Yield fields that no name in brackets could be, and names that are read and refused."""
    for function in project.functions.values():
        for name, field in (function.model.query or {}).items():
            for inner, one in (field.fields or {}).items():
                if _has_parts(one):
                    yield _too_deep(function, name, inner)
    told: set[tuple[str, str]] = set()
    for route in project.routes:
        yield from _refused(project, route, told)


def _has_parts(field: Field) -> bool:
    """Return whether the values of a field cannot each be one text."""
    base, many, _ = field.parts
    if base == "list" and field.items is not None:
        base, many, _ = field.items.parts
        return many or base in {"list", "object"}
    return base == "object"


def _too_deep(function: Resource[Function], name: str, inner: str) -> Diagnostic:
    shown = f"{name.rstrip('?')}[{inner.rstrip('?')}]"
    return Diagnostic(
        function.place("query", name, "fields", inner), "query-fields",
        f"'{shown}' has fields of its own, and a query has one level of them",
        "write a type, such as 'string', or 'string[]' for a list",
    )  # fmt: skip


def _refused(
    project: CheckedProject, route: Route, told: set[tuple[str, str]]
) -> Iterator[Diagnostic]:
    """Yield what one function of a route reads of the query, and another one of it refuses."""
    names = dict.fromkeys((route.function, *route.middleware))
    every = [project.functions[name] for name in names if name in project.functions]
    strict = [one for one in every if one.model.strict_query]
    declared = {name.rstrip("?") for one in every for name in one.model.query or {}}
    for one in every if strict else ():
        if one in strict:
            continue  # what it reads itself is told as an unknown field
        for name in sorted({*read_names(one.model.steps, "query")} - declared - {""}):
            if (one.name, name) not in told:
                told.add((one.name, name))
                yield Diagnostic(
                    strict[0].place("strictQuery"), "strict-query",
                    f"{title_of(one.name)} reads query '{name}', which no shape declares, so"
                    " 'strictQuery' refuses it",
                    f"declare '{name}?: string' under 'query' in {one.file}",
                )  # fmt: skip
