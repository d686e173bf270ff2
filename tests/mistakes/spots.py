"""Find every key and value of a resource, and what the models say stands there.

Nothing here asks the checker: a spot's role comes from the models' fields alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import PlainValidator, StringConstraints

from bbops.base.model import Model, plain
from bbops.language.addons._base import AddonStep
from bbops.language.expressions.values import read_bare, read_value
from bbops.language.shape import Field
from bbops.language.steps._base import find_step_kind, read_static, read_step
from bbops.language.steps._shape import read_groups, read_select
from bbops.source.yaml.document import Map, Mark, Seq

KeyPath = tuple[str | int, ...]

_READERS: dict[Any, str] = {
    read_value: "value", read_bare: "expression", read_static: "static", read_step: "step",
    read_groups: "select", read_select: "select", plain: "constant",
}  # fmt: skip
BESIDE = ("name", "timeout", "retry")
"""Keys of a step that are no parameters of its action."""


@dataclass(frozen=True, slots=True)
class Spot:
    """One entry of a map, or one item of a list.

    Attributes:
        role: of the value: choice, type, text, pattern, whole, number, truth, static, expression,
            value, constant, select; empty for what the model only groups.
        key_role: keyword, a name that is declared here, or a name in free data.
        required: the model refuses its map without this key.
        owner: the model or step kind whose field the nearest keyword is.
        field: that keyword.
        holder: the map or list that it is an entry of.
        depth: how long the path to that keyword is.
    """

    file: str
    path: KeyPath
    key_at: Mark | None
    at: Mark
    value: Any
    role: str
    key_role: str
    required: bool
    owner: type[Model]
    field: str
    holder: Map | Seq
    depth: int

    def holder_value(self, root: Any, key: str) -> Any:
        """Return what stands under a key of the map that holds the nearest keyword."""
        found = root
        for part in self.path[: self.depth - 1]:
            found = found[part]
        return found.get(key) if isinstance(found, Map) else None


def spots(file: str, model: type[Model], root: Map) -> Iterator[Spot]:
    """Yield every spot of one file."""
    yield from _Walk(file).model(model, root, ())


@dataclass(slots=True)
class _Walk:
    file: str
    owner: type[Model] = Model
    field: str = ""
    depth: int = 0

    def model(self, model: type[Model], node: Any, path: KeyPath) -> Iterator[Spot]:
        """Walk a map whose keys are the fields of a model."""
        if not isinstance(node, Map):
            return
        fields = {one.alias or name: one for name, one in model.model_fields.items()}
        for key, value in node.items():
            if key not in fields:
                continue
            one = fields[key]
            wanted: Any = (
                Annotated[one.annotation, *one.metadata] if one.metadata else one.annotation
            )
            self.owner, self.field, self.depth = model, key, len(path) + 1
            yield from self.entry(
                wanted, node, key, value, (*path, key), "keyword", required=one.is_required()
            )

    def entry(
        self, wanted: Any, holder: Map | Seq, key: Any, value: Any, path: KeyPath, key_role: str, *,
        required: bool = False,
    ) -> Iterator[Spot]:  # fmt: skip
        """Yield an entry or item, and all that stands in it."""
        wanted, rules = _bare(wanted, value)
        role = _role(wanted, rules, value)
        at = holder.values_at[key] if isinstance(holder, Map) else holder.items_at[key]
        key_at = holder.keys_at[key] if isinstance(holder, Map) else None
        was = self.owner, self.field, self.depth
        group = isinstance(value, Map | Seq)
        yield Spot(
            self.file, path, key_at, at, value, "" if group else role,
            key_role if key_at else "", required, was[0], was[1], holder, was[2],
        )  # fmt: skip
        yield from self.inside(wanted, role, value, path)
        self.owner, self.field, self.depth = was

    def inside(self, wanted: Any, role: str, value: Any, path: KeyPath) -> Iterator[Spot]:
        if role in {"value", "constant", "select", "expression"}:
            is_columns = role == "select" and isinstance(value, Seq) and not _has_maps(value)
            reader = read_static if is_columns else _BY_ROLE[role]
            yield from self.each(Annotated[Any, PlainValidator(reader)], value, path, "data")
        elif role == "step" and isinstance(value, Map):
            kind = next(filter(None, map(find_step_kind, value)), None)
            if kind is not None:
                yield from self.model(kind, value, path)
        elif isinstance(wanted, type) and issubclass(wanted, Model):
            yield from self.model(wanted, value, path)
        elif get_origin(wanted) in {list, dict}:
            yield from self.each(get_args(wanted)[-1], value, path, "name")

    def each(self, wanted: Any, value: Any, path: KeyPath, key_role: str) -> Iterator[Spot]:
        if isinstance(value, Map):
            for key, one in value.items():
                yield from self.entry(wanted, value, key, one, (*path, key), key_role)
        elif isinstance(value, Seq):
            for at, one in enumerate(value):
                yield from self.entry(wanted, value, at, one, (*path, at), "")


def _has_maps(value: Seq) -> bool:
    """Return whether a list is of the rows of a relation, not of columns."""
    return any(isinstance(one, Map) for one in value)


_BY_ROLE = {role: reader for reader, role in _READERS.items()}


def _bare(wanted: Any, value: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return an annotation without `Annotated` and the alternatives that a value is not."""
    rules: tuple[Any, ...] = ()
    while True:
        if get_origin(wanted) is Annotated:
            wanted, *more = get_args(wanted)
            rules = (*more, *rules)
            if any(isinstance(rule, PlainValidator) for rule in more):
                return wanted, rules
        elif get_origin(wanted) in {Union, UnionType}:
            options = [one for one in get_args(wanted) if one is not NoneType]
            wanted = next((one for one in options if _may_be(one, value)), options[0])
        else:
            return wanted, rules


def _may_be(wanted: Any, value: Any) -> bool:
    inner, _ = _bare(wanted, value) if get_origin(wanted) is Annotated else (wanted, ())
    if get_origin(inner) is Literal:
        return value in get_args(inner)
    if isinstance(inner, type) and issubclass(inner, Model):
        return isinstance(value, Map)
    if get_origin(inner) in {list, dict}:
        return isinstance(value, get_origin(inner) or object)
    return isinstance(inner, type) and type(value) is inner


def _role(wanted: Any, rules: tuple[Any, ...], value: Any) -> str:
    for rule in rules:
        if isinstance(rule, PlainValidator):
            return _READERS.get(rule.func, "value")
    if get_origin(wanted) is Literal:
        return "choice"
    if wanted is Field:
        return "type" if isinstance(value, str) else ""
    if wanted is str:
        return "pattern" if any(isinstance(rule, StringConstraints) for rule in rules) else "text"
    return {int: "whole", float: "number", bool: "truth"}.get(wanted, "")


def is_addon(owner: type[Model]) -> bool:
    """Return whether a model holds the parameters of an addon's step."""
    return issubclass(owner, AddonStep) or owner.__name__.endswith("_parameters")
