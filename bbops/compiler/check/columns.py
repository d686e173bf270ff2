"""Keys of columns that mean nothing for their type, that no value meets, or that others undo."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bbops.base.diagnostics import Diagnostic
from bbops.language.project import Project, Resource
from bbops.language.resources.table import Column, Table

_LENGTHS: Final = frozenset({"string", "text", "json", "binary"})
_NUMBERS: Final = frozenset({"integer", "bigint", "number", "decimal"})
_RULES: Final = {
    "minLength": _LENGTHS, "maxLength": _LENGTHS, "minimum": _NUMBERS, "maximum": _NUMBERS,
}  # fmt: skip
_FITTING: Final = {True: "text, json or binary", False: "a number"}

Found = Iterator[tuple[str, str, str]]
"""The key, what is wrong with it, and the cure."""


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield what is written of columns and indexes and would have no effect, or none but harm."""
    for table in project.tables.values():
        for name, column in table.model.columns.items():
            for key, message, hint in _of_column(table.model, name, column):
                place = table.place("columns", name, key)
                yield Diagnostic(place, "bad-value", message, hint)
        yield from _of_indexes(table)


def _of_column(table: Table, name: str, column: Column) -> Found:
    rules = {
        "minLength": column.min_length, "maxLength": column.max_length,
        "minimum": column.minimum, "maximum": column.maximum,
    }  # fmt: skip
    given = {key: value for key, value in rules.items() if value is not None}
    for key in given:
        if column.type not in _RULES[key]:
            fitting = _FITTING[_RULES[key] is _LENGTHS]
            yield key, f"'{key}' does not fit type {column.type}", f"it is for {fitting}"
    yield from _of_bounds(column, given)
    yield from _of_pairs(table, name, column)


def _of_bounds(column: Column, given: dict[str, int | float]) -> Found:
    for least, most in (("minLength", "maxLength"), ("minimum", "maximum")):
        if least in given and most in given and given[least] > given[most]:
            message = f"'{least}' is greater than '{most}', so no value is valid"
            yield least, message, f"expected at most {given[most]}"
    default = column.default
    is_text = isinstance(default, str) and column.type in {"string", "text"}
    size = len(str(default)) if is_text else default
    if isinstance(size, bool) or not isinstance(size, int | float):
        return
    least, most = ("minLength", "maxLength") if is_text else ("minimum", "maximum")
    if size < given.get(least, size) or size > given.get(most, size):
        key = least if size < given.get(least, size) else most
        yield "default", f"the default violates '{key}' of its column", f"'{key}' is {given[key]}"


def _of_pairs(table: Table, name: str, column: Column) -> Found:
    """Yield keys that go with another one, or not with it."""
    if column.references is None:
        if column.reverse is not None:
            yield "reverse", "'reverse' needs 'references'", "name the column it refers to"
        if column.on_delete != "restrict":
            yield "onDelete", "'onDelete' needs 'references'", "name the column it refers to"
    if column.auto is not None and column.default is not None:
        message = f"'auto: {column.auto}' gives each row a value, so the default is never used"
        yield "default", message, "remove one of them"
    if column.renamed_from in table.columns:
        message = f"column '{column.renamed_from}' is still there, so it was not renamed"
        yield "renamedFrom", message, "remove it, or delete the old column"
    if column.primary_key and table.primary_key is not None:
        message = "the table lists its 'primaryKey', so 'primaryKey' of a column has no effect"
        yield "primaryKey", message, f"remove it from '{name}', or remove the list"


def _of_indexes(table: Resource[Table]) -> Iterator[Diagnostic]:
    for index, model in table.model.indexes.items():
        for at, name in enumerate(model.columns):
            if name in model.columns[:at]:
                place = table.place("indexes", index, "columns", at)
                yield Diagnostic(
                    place, "bad-value", f"'{name}' is listed twice in this index", "remove it here"
                )
