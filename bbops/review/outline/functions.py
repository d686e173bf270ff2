"""Functions, with the resources that run them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from bbops.base.names import INLINE
from bbops.language.project import Resource
from bbops.language.resources.function import Function
from bbops.language.shape import Field
from bbops.review.outline.outline import FunctionOutline, InputOutline
from bbops.review.outline.places import first_line
from bbops.review.outline.relations import Relations
from bbops.review.outline.steps import addon_of, outline_steps

_PARTS: Final[tuple[Literal["input", "query", "params", "payload"], ...]] = (
    "params", "query", "input", "payload",
)  # fmt: skip


def outline_functions(relations: Relations) -> Iterator[FunctionOutline]:
    """Yield the functions of a project and the inline steps of its endpoints, by name."""
    for name, function in sorted(relations.project.functions.items()):
        yield _outline(relations, name, function)


def _outline(relations: Relations, name: str, function: Resource[Function]) -> FunctionOutline:
    model, uses = function.model, relations.uses[name]
    endpoint = name.removeprefix(INLINE)
    target = f"function {name}" if endpoint == name else f"endpoint {endpoint}"
    return FunctionOutline(
        name=name,
        file=function.file,
        line=first_line(function, "steps"),
        is_inline=endpoint != name,
        description=(model.description or "").strip(),
        inputs=tuple(_inputs(model)),
        steps=outline_steps(relations.project, model.steps, function.document.root["steps"]),
        callers=relations.callers.get(name, ()),
        enqueued_by=relations.enqueuers.get(name, ()),
        endpoints=relations.endpoints.get(name, ()),
        middleware_of=relations.middleware.get(name, ()),
        tasks=relations.tasks.get(name, ()),
        triggers=relations.triggers.get(name, ()),
        agents=relations.agents.get(name, ()),
        tests=relations.tests.get(target, ()),
        addons=tuple(sorted({addon_of(step) for step in model.every_step} - {""})),
        reads=uses.reads,
        writes=uses.writes,
    )


def _inputs(model: Function) -> Iterator[InputOutline]:
    for part in _PARTS:
        for name, field in (getattr(model, part) or {}).items():
            is_required = not name.endswith("?") and field.default is None
            about = (field.description or "").strip()
            yield InputOutline(name.rstrip("?"), part, type_text(field), is_required, about)


def type_text(field: Field) -> str:
    """Return the type of a field as a file writes it, such as `uuid?` or `integer[]`."""
    base, is_list, is_nullable = field.parts
    if field.items is not None:
        base, is_list = type_text(field.items), True
    elif field.fields is not None:
        base = f"{{{', '.join(field.fields)}}}"
    options = f" ({', '.join(map(str, field.enum))})" if field.enum else ""
    return f"{base}{'[]' * is_list}{'?' * is_nullable}{options}"
