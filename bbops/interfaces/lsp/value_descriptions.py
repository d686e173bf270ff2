"""Describe the values that a key accepts, from the annotation of its field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from bbops.base.diagnostics import article
from bbops.base.model import plain
from bbops.interfaces.lsp.schema import is_model
from bbops.language.addons._base import check_setting
from bbops.language.expressions.values import read_bare, read_value
from bbops.language.loading.explain import text_like
from bbops.language.loading.load import folder_of_key, kinds
from bbops.language.resources._job import check_cron, check_timezone
from bbops.language.shape import Field, FieldName, check_type
from bbops.language.steps._base import Step, read_static
from bbops.language.steps._shape import read_groups, read_select
from bbops.review.contract.editor import COLUMNS

_READERS = {
    read_bare: "an expression", read_value: "any value", plain: "a constant",
    read_static: "a text without `${ }`", read_select: "a list of columns, or a map of expressions",
    read_groups: "a list of columns, or a map of expressions",
    check_cron: "a cron line of five fields", check_type: "a type",
    check_setting: "a value, or '${ env.NAME }'",
    check_timezone: "a time zone of the IANA list",
}  # fmt: skip
_SCALARS = {
    str: "a text", int: "a whole number", float: "a number", bool: "true or false", dict: "a map",
    list: "a list",
}  # fmt: skip


def describe_value(field: FieldInfo, key: str = "") -> str:
    """Return the accepted values of a field, such as `a whole number from 0 to 10`."""
    return _describe(field.annotation, field.metadata, key)


def _describe(annotation: Any, rules: Sequence[Any], key: str) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _describe(arguments[0], (*rules, *_flat(arguments[1:])), key)
    readers = (getattr(rule, "func", None) for rule in rules)
    text = next((_READERS[reader] for reader in readers if reader in _READERS), "")
    name = _name_of(key)
    if text and not (name and "text" in text):
        return text
    if origin in {Union, UnionType}:
        options = [_describe(item, rules, key) for item in arguments if item is not NoneType]
        if options[1:]:
            options = [option.replace(" or false", ", false") for option in options]
        has_number = "a number" in options
        return _any([item for item in options if item != "a whole number" or not has_number])
    if origin is Literal:
        return _any([f"`{argument}`" for argument in arguments])
    if origin in {list, tuple}:
        return _list(_describe(arguments[0], (), key))
    if origin in {dict, Mapping}:
        return _map(*arguments)
    if is_model(annotation):
        short = getattr(annotation, "short_form", "")
        return "a field" if annotation is Field else f"{short} or a map" if short else "a map"
    return _scalar(annotation, rules, key)


def _flat(rules: Sequence[Any]) -> Iterator[Any]:
    for rule in rules:
        yield from rule.metadata if isinstance(rule, FieldInfo) else (rule,)


def _any(options: Sequence[str]) -> str:
    *others, last = options
    return f"{', '.join(others)} or {last}" if others else last


def _list(members: str) -> str:
    return "a list of steps" if members == "a step" else f"a list; each: {members}"


def _map(names: Any, values: Any) -> str:
    if names is FieldName and values is Field:
        return "a shape: fields by name"
    inner = _describe(values, (), "")
    return "a map by name" if inner == "a map" else f"a map by name; each: {inner}"


def _scalar(annotation: Any, rules: Sequence[Any], key: str) -> str:
    if annotation is Step:
        return "a step"
    patterns = (getattr(rule, "pattern", None) for rule in rules)
    text = next((text_like(str(pattern)) for pattern in patterns if pattern), "")
    if text or (_name_of(key) and annotation is not bool):
        return text or _name_of(key)
    limits = _limits(rules) if annotation in {int, float} else ""
    return _SCALARS.get(annotation, "a text") + limits


def _name_of(key: str) -> str:
    """Return the kind of name that a key accepts; empty for other keys."""
    if key == COLUMNS:
        return "'table.column'"
    folder = folder_of_key().get(key)
    return article(kinds()[folder].noun or kinds()[folder].id()) if folder else ""


def _limits(rules: Sequence[Any]) -> str:
    minimum = next((rule.ge for rule in rules if hasattr(rule, "ge")), None)
    maximum = next((rule.le for rule in rules if hasattr(rule, "le")), None)
    if minimum is not None and maximum is not None:
        return f" from {minimum:,} to {maximum:,}"
    return f" of at least {minimum:,}" if minimum is not None else ""
