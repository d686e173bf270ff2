"""Tables of keys, from the models that read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from inspect import cleandoc
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from bbops.base.model import Model
from bbops.interfaces.lsp.hover import NOT_YET, about_key
from bbops.interfaces.lsp.schema import SchemaNode, annotation_schema, fields
from bbops.interfaces.lsp.value_descriptions import describe_value
from bbops.language.expressions.nodes import Literal
from bbops.language.expressions.values import Constant, Expression
from bbops.language.shape import Field
from bbops.language.steps._base import Retry, Step

ELSEWHERE = {
    Field: "[field](README.md#shapes)",
    Retry: "[map](steps/README.md#beside-every-action)",
}
"""Models that many have: they stand in one place."""


def key_table(model: type[BaseModel], *, keys: Mapping[str, FieldInfo] | None = None) -> str:
    """Return the keys of a model as a table, needed ones first as the model has them."""
    rows = ["| key | takes | when left out | |", "| --- | --- | --- | --- |"]
    for key, field in (fields(model) if keys is None else keys).items():
        rows.append(
            f"| `{key}` | {describe_value(field, key)} | {left_out(field)} | {said(model, key)} |"
        )
    return "\n".join(rows).replace(" |  |", " | |")


def said(model: type[BaseModel], key: str) -> str:
    """Return what a key means, on one line of a table."""
    text = about_key(model, key).partition("\n")[0].replace("|", "\\|")
    return text.replace(NOT_YET, "°")


def left_out(field: FieldInfo) -> str:
    """Return what a key is when it is left out; `**needed**` where it may not be."""
    value = field.default
    if field.is_required():
        return "**needed**"
    if isinstance(value, Expression) and isinstance(value.node, Literal):
        value = value.node.value
    if isinstance(value, Constant):
        value = value.value
    if value is None or isinstance(value, Model) or value in ([], {}, "") or field.default_factory:
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`[{', '.join(value)}]`" if isinstance(value, list) else f"`{value}`"


def sections(model: type[BaseModel]) -> Iterator[str]:
    """Yield a section for each kind of map inside a model, at any depth."""
    paths: dict[type[BaseModel], list[str]] = {}
    for path, inner in maps(model):
        paths.setdefault(inner, []).append(f"`{path}`")
    for inner, found in paths.items():
        yield f"### {', '.join(found)}\n\n{cleandoc(inner.__doc__ or '')}\n\n{key_table(inner)}"


def maps(model: type[BaseModel], path: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    """Yield where each map inside a model stands, and its own model."""
    for key, field in fields(model).items():
        for inner, suffix in inside(annotation_schema(field.annotation, field.metadata)):
            if inner not in ELSEWHERE and not issubclass(inner, Step):
                yield f"{path}{key}{suffix}", inner
                yield from maps(inner, f"{path}{key}{suffix}.")


def inside(slot: SchemaNode) -> Iterator[tuple[type[BaseModel], str]]:
    """Yield the models that a key leads to, and how the path to each goes on."""
    if slot.model is not None:
        yield slot.model, ""
    for arm in slot.alternatives:
        origin: Any = get_origin(arm.annotation)
        if origin in {dict, list, tuple}:
            for found, suffix in inside(annotation_schema(get_args(arm.annotation)[-1])):
                yield found, (".<name>" if origin is dict else "[]") + suffix


def has_later(text: str) -> bool:
    """Return whether a page has the mark of what this version does not do yet."""
    return "°" in text
