"""The order of keys that a reader expects: as the models declare them."""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from bbops.language.resources._crud import Crud
from bbops.language.resources.agent import RunsOn
from bbops.language.resources.endpoint import Endpoint
from bbops.language.resources.function import Function
from bbops.language.resources.table import Column
from bbops.language.steps._base import Step, find_step_kind
from bbops.language.steps._find import FindParameters
from bbops.language.steps._shape import NestedFind, Selected
from bbops.language.steps.log import LogParameters
from bbops.source.yaml.format import AsWritten, Order

_FIRST: dict[type[BaseModel], tuple[str, ...]] = {
    Column: (
        "type", "like", "computed", "primaryKey", "references", "reverse", "nullable", "onDelete",
        "unique", "private", "auto", "enum",
    ),
    Crud: (
        "channel", "table", "path", "authentication", "owner", "match", "description", "select",
    ),
    Endpoint: ("channel",),
    Function: ("description", "params", "query", "strictQuery", "payload"),
    LogParameters: ("level",),
}  # fmt: skip
"""Where what is read first is not what is declared first."""

_LAST: dict[type[BaseModel], tuple[str, ...]] = {FindParameters: ("one", "withTotal")}
"""Likewise, where it is read last."""

_BESIDE = ("then", "elif", "cases", "else", "catch", "finally", "as", "name", "timeout", "retry")
"""Keys beside a step's action, in this order."""


def order_of(annotation: Any) -> Order:
    """Return the order of keys in what a model, or the annotation of a field, describes."""
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return order_of(inside[0])
    if origin in {Union, types.UnionType}:
        orders = [*map(order_of, inside)]
        if step := next((one for one in orders if isinstance(one, _AnyStep)), None):
            return step  # a step, or none
        found = [one for one in orders if not isinstance(one, AsWritten)]
        return found[0] if len(found) == 1 else AsWritten()
    if origin in {dict, list}:
        return _Members(order_of(inside[-1]))
    if annotation is Step:
        return _AnyStep()
    if annotation is Selected:
        return _Selected()
    if annotation is RunsOn:  # alternatives side by side
        return AsWritten()
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _Keys(annotation)
    return AsWritten()


class _Members:
    """Names or items that the author chose, each of one kind."""

    def __init__(self, member: Order) -> None:
        self._member = member

    def sorted(self, keys: Sequence[str]) -> Sequence[str]:
        """Return the keys in their order."""
        return keys

    def inside(self, key: str | None, keys: Sequence[str]) -> Order:
        """Return the order below a key."""
        del key
        return _of_kind(self._member, keys)


class _Selected(AsWritten):
    """What `select` holds: names of the author's, and the keys of nested lists."""

    def inside(self, key: str | None, keys: Sequence[str]) -> Order:
        """Return the order below a key."""
        del keys
        return _Keys(NestedFind) if key == "find" else self


class _AnyStep(AsWritten):
    """Any step; which one it is, its keys tell."""


def _of_kind(member: Order, keys: Sequence[str]) -> Order:
    if not isinstance(member, _AnyStep):
        return member
    found = ((key, kind) for key in keys if (kind := find_step_kind(key)) is not None)
    action, kind = next(found, (None, Step))
    return _Keys(kind, action) if action else AsWritten()


class _Keys:
    """The keys of a model; of a step those of its action as well."""

    def __init__(self, model: type[BaseModel], action: str | None = None) -> None:
        self._fields = {
            field.alias or name: field.annotation for name, field in model.model_fields.items()
        }
        first = (action, *_BESIDE) if action else _FIRST.get(model, ())
        self._last = _LAST.get(model, ())
        every = (key for key in (*first, *self._fields) if key and key not in self._last)
        self._order = [*dict.fromkeys(every)]

    def sorted(self, keys: Sequence[str]) -> Sequence[str]:
        """Return the keys in their order."""
        unknown = len(self._order)
        places = {key: place for place, key in enumerate(self._order)}
        places |= {key: unknown + 1 + place for place, key in enumerate(self._last)}
        return sorted(keys, key=lambda key: places.get(key, unknown))

    def inside(self, key: str | None, keys: Sequence[str]) -> Order:
        """Return the order below a key."""
        del keys
        return order_of(self._fields.get(str(key)))
