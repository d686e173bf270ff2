"""What the language expects at a place of a file: which keys, which values, an expression."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from bbops.base.model import plain
from bbops.language.expressions.values import read_bare, read_value
from bbops.language.resources.table import Column
from bbops.language.shape import TYPES, Field
from bbops.language.steps._base import Step, find_step_kind, read_step
from bbops.language.steps._shape import NestedFind, Selected, read_groups, read_select

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Arm:
    """One thing that a place takes; `readers` are the functions that read it from YAML."""

    of: Any
    readers: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Slot:
    """What one place takes.

    Attributes:
        arms: each thing that may stand there.
        key: the key that leads here.
        owner: the model that has the key; None in maps of names.
    """

    arms: tuple[Arm, ...]
    key: str = ""
    owner: type[BaseModel] | None = None

    @property
    def model(self) -> type[BaseModel] | None:
        """The model of a map that stands here."""
        return next((arm.of for arm in self.arms if is_model(arm.of)), None)

    @property
    def is_step(self) -> bool:
        """Whether a step stands here."""
        return self._reads(read_step)

    @property
    def is_value(self) -> bool:
        """Whether any value with `${ }` stands here."""
        return self._reads(read_value)

    @property
    def is_bare(self) -> bool:
        """Whether an expression without `${ }` stands here."""
        return self._reads(read_bare)

    @property
    def is_open(self) -> bool:
        """Whether anything constant stands here."""
        return self._reads(plain)

    def _reads(self, reader: Any) -> bool:
        return any(reader in arm.readers for arm in self.arms)

    @property
    def is_type(self) -> bool:
        """Whether the type of a column or of a field stands here."""
        is_shape = any(arm.of is Field for arm in self.arms)
        return is_shape or (self.key == "type" and self.owner in {Column, Field})

    @property
    def options(self) -> list[str]:
        """The words that may stand here."""
        found: list[str] = []
        for arm in [*self.arms, *(inner for one in self._lists() for inner in one.arms)]:
            if get_origin(arm.of) is Literal:
                found += map(str, get_args(arm.of))
            elif arm.of is bool:
                found += ["true", "false"]
            elif arm.of is Field or (self.key == "type" and self.owner is Field):
                found += TYPES
        return list(dict.fromkeys(found))

    def _lists(self) -> Iterator[Slot]:
        for arm in self.arms:
            if get_origin(arm.of) in {list, tuple}:
                yield slot_of(get_args(arm.of)[0])

    def inside(self, node: Any, part: str | int) -> Slot:
        """Return the slot of a member of what stands here; `node` is what does."""
        if self.is_value or self.is_open:
            return Slot(self.arms, str(part) if isinstance(part, str) else self.key)
        if self._reads(read_select) or self._reads(read_groups):
            members: Any = dict(enumerate(node)) if isinstance(node, list) else node
            inner = members.get(part) if isinstance(members, dict) else None
            if part == "find" and isinstance(inner, dict):
                return Slot(slot_of(NestedFind).arms, part)
            is_column = isinstance(node, list) and not isinstance(inner, dict)
            return NOWHERE if is_column else Slot(_SELECTED, str(part))
        if isinstance(part, int):
            return next(self._lists(), NOWHERE)
        model = step_model(node) if self.is_step else self.model
        if model is not None:
            return field_slot(model, part)
        for arm in self.arms:
            if get_origin(arm.of) in {dict, Mapping}:
                found = slot_of(get_args(arm.of)[1])
                return Slot(found.arms, part)
        return NOWHERE


NOWHERE = Slot(())
_SELECTED = (Arm(Selected, (read_select, read_bare)),)
"""What stands under a name in `select`: an expression, a map of such, or rows of a relation."""


def is_model(of: Any) -> bool:
    """Return whether an annotation is a model, other than a step of whatever kind."""
    return isinstance(of, type) and issubclass(of, BaseModel) and of is not Step


def slot_of(annotation: Any, metadata: Sequence[Any] = ()) -> Slot:
    """Return the slot of an annotation."""
    return Slot(tuple(_arms(annotation, _readers(metadata))))


def _arms(annotation: Any, readers: tuple[Any, ...]) -> Iterator[Arm]:
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *metadata = get_args(annotation)
        yield from _arms(inner, (*readers, *_readers(metadata)))
    elif origin in {Union, UnionType}:
        for one in get_args(annotation):
            yield from _arms(one, readers)
    elif annotation is not type(None):
        yield Arm(annotation, readers)


def _readers(metadata: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(one.func for one in metadata if hasattr(one, "func"))


def fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a model by their keys in YAML."""
    model.model_rebuild()
    return {field.alias or name: field for name, field in model.model_fields.items()}


def field_slot(model: type[BaseModel], key: str) -> Slot:
    """Return the slot of a key of a model."""
    field = fields(model).get(key)
    if field is None:
        return NOWHERE
    return Slot(slot_of(field.annotation, field.metadata).arms, key, model)


def step_model(node: Any) -> type[Step] | None:
    """Return the kind of a step; None as long as it has no action."""
    keys = node if isinstance(node, dict) else ()
    return next(filter(None, map(find_step_kind, keys)), None)


def slot_at(model: type[BaseModel], root: Any, path: Path) -> Slot:
    """Return the slot at a place of a file of that model."""
    slot, node = Slot((Arm(model),)), root
    for part in path:
        slot = slot.inside(node, part)
        node = child(node, part)
    return slot


def child(node: Any, part: str | int) -> Any:
    """Return a member of a map or list, None where it has none."""
    if isinstance(node, dict):
        return node.get(part)
    if isinstance(node, list) and isinstance(part, int) and part < len(node):
        return node[part]
    return None


def node_at(root: Any, path: Path) -> Any:
    """Return what stands at a place, None where nothing does."""
    for part in path:
        root = child(root, part)
    return root
