"""Say in a few words what a key takes, from the annotation of its field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from bbops.base.diagnostics import article
from bbops.base.model import plain
from bbops.interfaces.lsp.slots import is_model
from bbops.language.addons._settings import check_setting
from bbops.language.expressions.values import read_bare, read_value
from bbops.language.loading.explain import text_like
from bbops.language.loading.load import folder_of_key, kinds
from bbops.language.resources._schedule import check_cron, check_timezone
from bbops.language.shape import Field, FieldName, check_type
from bbops.language.steps._base import Step, read_static
from bbops.language.steps._shape import read_groups, read_select
from bbops.review.contract.editor import COLUMNS

_READ = {
    read_bare: "an expression", read_value: "any value", plain: "a constant",
    read_static: "a text without `${ }`", read_select: "a list of columns, or a map of expressions",
    read_groups: "a list of columns, or a map of expressions",
    check_cron: "a cron line of five fields", check_type: "a type",
    check_setting: "a value, or '${ env.NAME }'",
    check_timezone: "a time zone of the IANA list",
}  # fmt: skip
_PLAIN = {
    str: "a text", int: "a whole number", float: "a number", bool: "true or false", dict: "a map",
    list: "a list",
}  # fmt: skip


def takes(field: FieldInfo, key: str = "") -> str:
    """Return what a field takes, such as `a whole number from 0 to 10`."""
    return _takes(field.annotation, field.metadata, key)


def _takes(of: Any, rules: Sequence[Any], key: str) -> str:
    origin, arguments = get_origin(of), get_args(of)
    if origin is Annotated:
        return _takes(arguments[0], (*rules, *_flat(arguments[1:])), key)
    read = next((_READ[rule.func] for rule in rules if getattr(rule, "func", None) in _READ), "")
    name = _name_of(key)
    if read and not (name and "text" in read):
        return read
    if origin in {Union, UnionType}:
        arms = [_takes(one, rules, key) for one in arguments if one is not NoneType]
        arms = [arm.replace(" or false", ", false") for arm in arms] if arms[1:] else arms
        return _any([arm for arm in arms if arm != "a whole number" or "a number" not in arms])
    if origin is Literal:
        return _any([f"`{one}`" for one in arguments])
    if origin in {list, tuple}:
        return _list(_takes(arguments[0], (), key))
    if origin in {dict, Mapping}:
        return _map(*arguments)
    if is_model(of):
        short = getattr(of, "short_form", "")
        return "a field" if of is Field else f"{short} or a map" if short else "a map"
    return _scalar(of, rules, key)


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
    inner = _takes(values, (), "")
    return "a map by name" if inner == "a map" else f"a map by name; each: {inner}"


def _scalar(of: Any, rules: Sequence[Any], key: str) -> str:
    if of is Step:
        return "a step"
    patterns = (getattr(rule, "pattern", None) for rule in rules)
    like = next((text_like(str(pattern)) for pattern in patterns if pattern), "")
    if like or (_name_of(key) and of is not bool):
        return like or _name_of(key)
    return _PLAIN.get(of, "a text") + (_limits(rules) if of in {int, float} else "")


def _name_of(key: str) -> str:
    """Return what a key that takes the name of something takes; empty for others."""
    if key == COLUMNS:
        return "'table.column'"
    folder = folder_of_key().get(key)
    return article(kinds()[folder].noun or kinds()[folder].id()) if folder else ""


def _limits(rules: Sequence[Any]) -> str:
    least = next((rule.ge for rule in rules if hasattr(rule, "ge")), None)
    most = next((rule.le for rule in rules if hasattr(rule, "le")), None)
    if least is not None and most is not None:
        return f" from {least:,} to {most:,}"
    return f" of at least {least:,}" if least is not None else ""
