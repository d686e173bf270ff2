"""Find the schema at a path of a file: the allowed keys and values, or an expression."""

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
class Alternative:
    """An alternative of a schema; `readers` are the functions that read it from YAML."""

    annotation: Any
    readers: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class SchemaNode:
    """The schema of a value in a file.

    Attributes:
        alternatives: the types that the value may have.
        key: the key of the value.
        owner: the model with the key; None in maps of names.
    """

    alternatives: tuple[Alternative, ...]
    key: str = ""
    owner: type[BaseModel] | None = None

    @property
    def model(self) -> type[BaseModel] | None:
        """The model of the value, if it is a map."""
        annotations = (item.annotation for item in self.alternatives)
        return next((annotation for annotation in annotations if is_model(annotation)), None)

    @property
    def is_step(self) -> bool:
        """Whether the value is a step."""
        return self._reads(read_step)

    @property
    def is_value(self) -> bool:
        """Whether the value may be anything, with `${ }`."""
        return self._reads(read_value)

    @property
    def is_bare(self) -> bool:
        """Whether the value is an expression without `${ }`."""
        return self._reads(read_bare)

    @property
    def is_open(self) -> bool:
        """Whether the value may be any constant."""
        return self._reads(plain)

    def _reads(self, reader: Any) -> bool:
        return any(reader in item.readers for item in self.alternatives)

    @property
    def is_type(self) -> bool:
        """Whether the value is the type of a column or of a field."""
        is_shape = any(item.annotation is Field for item in self.alternatives)
        return is_shape or (self.key == "type" and self.owner in {Column, Field})

    @property
    def options(self) -> list[str]:
        """The allowed words."""
        words: list[str] = []
        members = (member for schema in self._lists() for member in schema.alternatives)
        for item in [*self.alternatives, *members]:
            if get_origin(item.annotation) is Literal:
                words += map(str, get_args(item.annotation))
            elif item.annotation is bool:
                words += ["true", "false"]
            elif item.annotation is Field or (self.key == "type" and self.owner is Field):
                words += TYPES
        return list(dict.fromkeys(words))

    def _lists(self) -> Iterator[SchemaNode]:
        for item in self.alternatives:
            if get_origin(item.annotation) in {list, tuple}:
                yield annotation_schema(get_args(item.annotation)[0])

    def member(self, node: Any, part: str | int) -> SchemaNode:
        """Return the schema of a member of the value `node`."""
        if self.is_value or self.is_open:
            return SchemaNode(self.alternatives, str(part) if isinstance(part, str) else self.key)
        if self._reads(read_select) or self._reads(read_groups):
            members: Any = dict(enumerate(node)) if isinstance(node, list) else node
            inner = members.get(part) if isinstance(members, dict) else None
            if part == "find" and isinstance(inner, dict):
                return SchemaNode(annotation_schema(NestedFind).alternatives, part)
            is_column = isinstance(node, list) and not isinstance(inner, dict)
            return NO_SCHEMA if is_column else SchemaNode(_SELECTED, str(part))
        if isinstance(part, int):
            return next(self._lists(), NO_SCHEMA)
        model = step_model(node) if self.is_step else self.model
        if model is not None:
            return field_schema(model, part)
        for item in self.alternatives:
            if get_origin(item.annotation) in {dict, Mapping}:
                schema = annotation_schema(get_args(item.annotation)[1])
                return SchemaNode(schema.alternatives, part)
        return NO_SCHEMA


NO_SCHEMA = SchemaNode(())
_SELECTED = (Alternative(Selected, (read_select, read_bare)),)
"""The schema of a name in `select`: an expression, a map of expressions, or rows of a relation."""


def is_model(annotation: Any) -> bool:
    """Return whether an annotation is a model other than `Step`, the base of all steps."""
    return (
        isinstance(annotation, type)
        and issubclass(annotation, BaseModel)
        and annotation is not Step
    )


def annotation_schema(annotation: Any, metadata: Sequence[Any] = ()) -> SchemaNode:
    """Return the schema of an annotation."""
    return SchemaNode(tuple(_alternatives(annotation, _readers(metadata))))


def _alternatives(annotation: Any, readers: tuple[Any, ...]) -> Iterator[Alternative]:
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *metadata = get_args(annotation)
        yield from _alternatives(inner, (*readers, *_readers(metadata)))
    elif origin in {Union, UnionType}:
        for argument in get_args(annotation):
            yield from _alternatives(argument, readers)
    elif annotation is not type(None):
        yield Alternative(annotation, readers)


def _readers(metadata: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(item.func for item in metadata if hasattr(item, "func"))


def fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a model by their keys in YAML."""
    model.model_rebuild()
    return {field.alias or name: field for name, field in model.model_fields.items()}


def field_schema(model: type[BaseModel], key: str) -> SchemaNode:
    """Return the schema of a key of a model."""
    field = fields(model).get(key)
    if field is None:
        return NO_SCHEMA
    return SchemaNode(annotation_schema(field.annotation, field.metadata).alternatives, key, model)


def step_model(node: Any) -> type[Step] | None:
    """Return the kind of a step; None while it has no action."""
    keys = node if isinstance(node, dict) else ()
    return next(filter(None, map(find_step_kind, keys)), None)


def schema_at(model: type[BaseModel], root: Any, path: Path) -> SchemaNode:
    """Return the schema at a path of a file with that model."""
    schema, node = SchemaNode((Alternative(model),)), root
    for part in path:
        schema = schema.member(node, part)
        node = child(node, part)
    return schema


def child(node: Any, part: str | int) -> Any:
    """Return a member of a map or list, None if it does not exist."""
    if isinstance(node, dict):
        return node.get(part)
    if isinstance(node, list) and isinstance(part, int) and part < len(node):
        return node[part]
    return None


def node_at(root: Any, path: Path) -> Any:
    """Return the value at a path, None if it does not exist."""
    for part in path:
        root = child(root, part)
    return root
