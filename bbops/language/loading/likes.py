"""Resolve fields and columns with `{ like: tickets.state }` to the type and bounds of the column.

This happens before other code reads the project, so a changed column changes every shape and
every table with a `like` to it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from bbops.base.model import Model
from bbops.language.project import Resource
from bbops.language.resources.table import Column, Table
from bbops.language.shape import Field
from bbops.source.tree import BlobId
from bbops.source.yaml.nodes import Map, Seq

M = TypeVar("M", bound=Model)
SAME: Final = (
    "string", "text", "integer", "number", "decimal", "boolean", "datetime", "date", "uuid", "json",
)  # fmt: skip
TYPES: Final[Mapping[str, str]] = {"bigint": "integer", **{name: name for name in SAME}}
"""The type of a field for the type of its column; other types have none."""
LOWER: Final = ("minLength", "minimum")
UPPER: Final = ("maxLength", "maximum")
_SHAPES: Final = (
    "input", "query", "params", "payload", "output", "events", "parameters", "gives",
)  # fmt: skip
_RULES: Final = ("enum", "min_length", "max_length", "minimum", "maximum")
_KEYS: Final = {name: field.alias or name for name, field in Column.model_fields.items()}


def find_likes(root: Any) -> Iterator[Map]:
    """Yield the maps of a file that have a `like`, in a field or a column."""
    if isinstance(root, Map):
        for column in _members(root.get("columns")):
            if isinstance(column, Map) and "." in str(column.get("like", "")):
                yield column
        for key in _SHAPES:
            yield from _in_shape(root.get(key))
        yield from _in_steps(root.get("steps"))


def _in_shape(node: Any) -> Iterator[Map]:
    if isinstance(node, Map) and "." in str(node.get("like", "")):
        yield node
    for inner in _members(node):
        yield from _in_shape(inner)


def _in_steps(node: Any) -> Iterator[Map]:
    validate = node.get("validate") if isinstance(node, Map) else None
    if isinstance(validate, Map):
        yield from _in_shape(validate.get("shape"))
    for inner in _members(node):
        yield from _in_steps(inner)


def _members(node: Any) -> Iterator[Any]:
    if isinstance(node, Map):
        yield from node.values()
    elif isinstance(node, Seq):
        yield from node


def column_of(like: str, tables: Mapping[str, Table]) -> Column | None:
    """Return the column of a `like`; None if it does not exist."""
    table, _, name = like.partition(".")
    return tables[table].columns.get(name) if table in tables else None


# ---- models
def resolved(resource: Resource[Any], tables: Mapping[str, Table]) -> Resource[Any]:
    """Return a resource with resolved fields; it counts as changed if its columns change."""
    if "like" not in resource.document.source or not any(find_likes(resource.document.root)):
        return resource
    return as_columns(resource, tables)


def as_columns(resource: Resource[Any], tables: Mapping[str, Table]) -> Resource[Any]:
    """Return a resource with resolved fields."""
    used: list[str] = []
    model = _copy(resource.model, tables, used)
    if not used:  # a table, whose columns are resolved already
        return resource
    return replace(resource, model=model, blob=BlobId(f"{resource.blob}-{_digest(used)}"))


def _digest(said: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(said).encode()).hexdigest()[:16]


def resolved_tables(tables: Mapping[str, Resource[Table]]) -> dict[str, Resource[Table]]:
    """Return tables with resolved columns."""
    models = {name: table.model for name, table in tables.items()}
    return {name: _resolved_table(table, models) for name, table in tables.items()}


def _resolved_table(table: Resource[Table], tables: Mapping[str, Table]) -> Resource[Table]:
    columns = {
        name: as_column(column, tables) for name, column in table.model.columns.items()
        if column.like is not None
    }  # fmt: skip
    if not columns:
        return table
    told = _digest([resolved.model_dump_json() for resolved in columns.values()])
    model = _with(table.model, {"columns": {**table.model.columns, **columns}})
    return replace(table, model=model, blob=BlobId(f"{table.blob}-{told}"))


def as_column(column: Column, tables: Mapping[str, Table], *seen: str) -> Column:
    """Return a column with its `like` resolved; unchanged if the other column does not exist."""
    source = column_of(column.like or "", tables)
    if source is not None and source.like is not None and column.like not in seen:
        source = as_column(source, tables, *seen, column.like or "")
    if source is None or source.like is not None:
        return column.model_copy(update={"type": "json"})
    given = column.model_dump(exclude_unset=True, exclude={"like"})
    for name in ("description", *_RULES):
        given.setdefault(name, getattr(source, name))
    return Column.model_validate({
        _KEYS[name]: value for name, value in {**given, "type": source.type}.items()
        if value is not None
    })  # fmt: skip


def _copy(value: Any, tables: Mapping[str, Table], used: list[str]) -> Any:
    """Return a value with resolved fields; the value itself if it has none."""
    if isinstance(value, Field) and value.like is not None:
        found = as_field(value, tables)
        used.append(found.model_dump_json())
        return found
    if isinstance(value, Model):
        changed = {
            name: copied for name in type(value).model_fields
            if (copied := _copy(was := getattr(value, name), tables, used)) is not was
        }  # fmt: skip
        return _with(value, changed) if changed else value
    if isinstance(value, dict):
        copies = {key: _copy(item, tables, used) for key, item in value.items()}
        return copies if any(copies[key] is not item for key, item in value.items()) else value
    if isinstance(value, list):
        many = [_copy(item, tables, used) for item in value]
        return many if any(a is not b for a, b in zip(many, value, strict=True)) else value
    return value


def _with(model: M, changed: Mapping[str, Any]) -> M:
    """Return a copy of a model, without its cached properties."""
    found = model.model_copy(update=dict(changed))
    for name in vars(found).keys() - type(model).model_fields.keys():
        del vars(found)[name]
    return found


def as_field(field: Field, tables: Mapping[str, Table]) -> Field:
    """Return a field with its `like` resolved; itself if that is not possible."""
    column = column_of(field.like or "", tables)
    if column is None or column.type not in TYPES:
        return field
    given: dict[str, Any] = {
        "type": TYPES[column.type] + ("?" if column.nullable else ""),
        "description": field.description or column.description,
    }
    for name in _RULES:
        own = getattr(field, name)
        given[name] = getattr(column, name) if own is None else own
    given |= {"pattern": field.pattern, "default": field.default}
    keys = type(field).model_fields
    try:
        return Field.model_validate(
            {keys[name].alias or name: item for name, item in given.items() if item is not None}
        )
    except ValidationError:  # `bbops.compiler.check` reports the reason
        return field
