"""Fields and columns that are like a column: `{ like: tickets.state }` becomes its type and bounds.

That happens before anything else looks at a project, so a changed column changes every shape and
every table that is like it.
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
"""The type of a field that is like a column of each type; of others no field has one."""
LOWER: Final = ("minLength", "minimum")
UPPER: Final = ("maxLength", "maximum")
_SHAPES: Final = (
    "input", "query", "params", "payload", "output", "events", "parameters", "gives",
)  # fmt: skip
_RULES: Final = ("enum", "min_length", "max_length", "minimum", "maximum")
_KEYS: Final = {name: one.alias or name for name, one in Column.model_fields.items()}


def find_likes(root: Any) -> Iterator[Map]:
    """Yield the maps of a file that say which column a field, or a column, is like."""
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
    """Return the column that a field is like; None where it is not there."""
    table, _, name = like.partition(".")
    return tables[table].columns.get(name) if table in tables else None


# ---- models
def resolved(resource: Resource[Any], tables: Mapping[str, Table]) -> Resource[Any]:
    """Return a resource whose fields are what they are like; it counts as changed with these."""
    if "like" not in resource.document.source or not any(find_likes(resource.document.root)):
        return resource
    return as_columns(resource, tables)


def as_columns(resource: Resource[Any], tables: Mapping[str, Table]) -> Resource[Any]:
    """Return a resource with the fields that its fields are like."""
    used: list[str] = []
    model = _copy(resource.model, tables, used)
    if not used:  # a table, whose columns are known already
        return resource
    return replace(resource, model=model, blob=BlobId(f"{resource.blob}-{_digest(used)}"))


def _digest(said: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(said).encode()).hexdigest()[:16]


def resolved_tables(tables: Mapping[str, Resource[Table]]) -> dict[str, Resource[Table]]:
    """Return tables whose columns are what they are like."""
    models = {name: one.model for name, one in tables.items()}
    return {name: _resolved_table(one, models) for name, one in tables.items()}


def _resolved_table(table: Resource[Table], tables: Mapping[str, Table]) -> Resource[Table]:
    columns = {
        name: as_column(column, tables) for name, column in table.model.columns.items()
        if column.like is not None
    }  # fmt: skip
    if not columns:
        return table
    told = _digest([one.model_dump_json() for one in columns.values()])
    model = _with(table.model, {"columns": {**table.model.columns, **columns}})
    return replace(table, model=model, blob=BlobId(f"{table.blob}-{told}"))


def as_column(column: Column, tables: Mapping[str, Table], *seen: str) -> Column:
    """Return the column that is like another one; where there is none, one that says so still."""
    source = column_of(column.like or "", tables)
    if source is not None and source.like is not None and column.like not in seen:
        source = as_column(source, tables, *seen, column.like or "")
    if source is None or source.like is not None:
        return column.model_copy(update={"type": "json"})
    given = column.model_dump(exclude_unset=True, exclude={"like"})
    for name in ("description", *_RULES):
        given.setdefault(name, getattr(source, name))
    return Column.model_validate({
        _KEYS[name]: one for name, one in {**given, "type": source.type}.items() if one is not None
    })  # fmt: skip


def _copy(value: Any, tables: Mapping[str, Table], used: list[str]) -> Any:
    """Return a value with other fields where some are like columns; else itself."""
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
        copies = {key: _copy(one, tables, used) for key, one in value.items()}
        return copies if any(copies[key] is not one for key, one in value.items()) else value
    if isinstance(value, list):
        many = [_copy(one, tables, used) for one in value]
        return many if any(a is not b for a, b in zip(many, value, strict=True)) else value
    return value


def _with(model: M, changed: Mapping[str, Any]) -> M:
    """Return a copy of a model, without what it has found out about itself."""
    found = model.model_copy(update=dict(changed))
    for name in vars(found).keys() - type(model).model_fields.keys():
        del vars(found)[name]
    return found


def as_field(field: Field, tables: Mapping[str, Table]) -> Field:
    """Return the field that is like a column; itself where that is not possible."""
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
            {keys[name].alias or name: one for name, one in given.items() if one is not None}
        )
    except ValidationError:  # `bbops.compiler.check` says why
        return field
