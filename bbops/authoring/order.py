"""The order of keys that a reader expects: as the models declare them."""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from bbops.resources.endpoint import Endpoint
from bbops.resources.function import Function
from bbops.steps._base import Step, step_kinds
from bbops.yaml.format import AsWritten, Order

_FIRST = {
    Endpoint: ("channel",),
    Function: ("description", "params", "query"),
}
"""Where what is read first is not what is declared first."""

_BESIDE = ("then", "else", "catch", "finally", "as", "name", "timeout", "retry")
"""Keys beside a step's action, in this order."""


def order_of(annotation: Any) -> Order:
    """Return the order of keys in what a model, or the annotation of a field, describes."""
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return order_of(inside[0])
    if origin in {Union, types.UnionType}:
        found = [one for one in map(order_of, inside) if not isinstance(one, AsWritten)]
        return found[0] if len(found) == 1 else AsWritten()
    if origin in {dict, list}:
        return _Members(order_of(inside[-1]))
    if annotation is Step:
        return _AnyStep()
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _Keys(annotation)
    return AsWritten()


class _Members:
    """Names or items that the author chose, each of one kind."""

    def __init__(self, member: Order) -> None:
        self._member = member

    def sorted(self, keys: Sequence[str]) -> Sequence[str]:
        return keys

    def inside(self, key: str | None, keys: Sequence[str]) -> Order:
        del key
        return _of_kind(self._member, keys)


class _AnyStep(AsWritten):
    """Any step; which one it is, its keys tell."""


def _of_kind(member: Order, keys: Sequence[str]) -> Order:
    if not isinstance(member, _AnyStep):
        return member
    kinds = step_kinds()
    action = next((key for key in keys if key in kinds), None)
    return _Keys(kinds[action], action) if action else AsWritten()


class _Keys:
    """The keys of a model; of a step those of its action as well."""

    def __init__(self, model: type[BaseModel], action: str | None = None) -> None:
        self._fields = {
            field.alias or name: field.annotation for name, field in model.model_fields.items()
        }
        first = (action, *_BESIDE) if action else _FIRST.get(model, ())
        self._order = [key for key in dict.fromkeys((*first, *self._fields)) if key]
        self._action = model if action else None

    def sorted(self, keys: Sequence[str]) -> Sequence[str]:
        places = {key: place for place, key in enumerate(self._order)}
        return sorted(keys, key=lambda key: places.get(key, len(places)))

    def inside(self, key: str | None, keys: Sequence[str]) -> Order:
        del keys
        return order_of(self._fields.get(str(key)))
