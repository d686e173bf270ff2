"""A field or column that is like a column: it exists, and what is added says less, never more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from bbops.base.diagnostics import Diagnostic, Place, suggest, suggest_resource
from bbops.language.loading.likes import LOWER, TYPES, UPPER, as_field, column_of, find_likes
from bbops.language.project import Project, Resource
from bbops.language.resources.table import Column, Table
from bbops.language.shape import Field
from bbops.source.yaml.nodes import Map, Mark


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield fields and columns that are like nothing, or looser than what they are like."""
    tables = {name: one.model for name, one in project.tables.items()}
    for resource in project.every:
        if "like" in resource.document.source:
            for field in find_likes(resource.document.root):
                yield from _field(project, resource, tables, field)


def _field(
    project: Project, resource: Resource[Any], tables: Mapping[str, Table], field: Map
) -> Iterator[Diagnostic]:
    like, place = str(field["like"]), resource.at(field.values_at["like"])
    table, _, name = like.partition(".")
    if table not in tables:
        if ("tables", table) not in project.broken:
            yield Diagnostic(
                place, "unknown-table", f"table '{table}' does not exist",
                suggest_resource(table, "tables", tables),
            )  # fmt: skip
        return
    if project.tables[table].file in project.repaired:
        return
    column = column_of(like, tables)
    if column is None:
        yield Diagnostic(
            place, "unknown-column", f"table '{table}' has no column '{name}'",
            suggest(name, tables[table].columns),
        )  # fmt: skip
    elif column.like is not None:  # of what that is like, its own place says more
        yield from _circle(resource, place, like, tables)
    elif resource.kind == "table":
        yield from _looser(resource, field, column, like)
    elif column.type not in TYPES:
        yield Diagnostic(
            place, "like", f"'{like}' has the type {column.type}, which no field has",
            "write the 'type' that clients send, for example string",
        )  # fmt: skip
    else:
        found = [*_looser(resource, field, column, like)]
        yield from found or _broken(resource, field, tables)


def _circle(
    resource: Resource[Any], place: Place, like: str, tables: Mapping[str, Table]
) -> Iterator[Diagnostic]:
    """Yield that a column is like itself, through others or not."""
    seen, of = list[str](), like
    while of and of not in seen:
        seen.append(of)
        column = column_of(of, tables)
        of = (column.like if column is not None else None) or ""
    if of == like and resource.kind == "table":
        message = f"'{like}' is like itself" if len(seen) > 1 else "the column is like itself"
        yield Diagnostic(place, "like", message, "give one of them a 'type'")


def _looser(resource: Resource[Any], field: Map, column: Column, like: str) -> Iterator[Diagnostic]:
    told = column.model_dump(by_alias=True)
    for key in (*LOWER, *UPPER):
        own, bound = field.get(key), told[key]
        if own is None or bound is None or type(own) not in {int, float}:
            continue
        if own < bound if key in LOWER else own > bound:
            yield _wrong(
                resource,
                field.values_at[key],
                f"'{key}' of '{like}' is {bound}; what is like it may only be stricter",
            )
    options = field.get("enum")
    if column.enum is not None and isinstance(options, list):
        for more in [one for one in options if one not in column.enum]:
            yield _wrong(
                resource,
                field.values_at["enum"],
                f"'{more}' is not one of the values of '{like}'",
            )


def _broken(
    resource: Resource[Any], field: Map, tables: Mapping[str, Table]
) -> Iterator[Diagnostic]:
    """Yield that the keys beside `like` do not fit its type."""
    try:
        written = Field.model_validate(field)
    except ValidationError:  # told where the file is read
        return
    if as_field(written, tables) is written:
        yield _wrong(
            resource,
            field.values_at["like"],
            f"a key beside it does not fit the type of '{written.like}'",
        )


def _wrong(resource: Resource[Any], mark: Mark, message: str) -> Diagnostic:
    return Diagnostic(
        resource.at(mark), "like", message, "remove the key, or write a 'type' in place of 'like'"
    )
