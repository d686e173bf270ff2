"""Tables: columns with the keys of their types, references and indexes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from bbops.base.diagnostics import Diagnostic, suggest
from bbops.compiler.check._checked import CheckedProject
from bbops.compiler.check._outside import Outside
from bbops.language.expressions.values import Expression
from bbops.language.project import Project, Resource
from bbops.language.resources.table import Column, Table
from bbops.language.sql.checks import kept_sql
from bbops.language.sql.computed import TYPES, computed_sql, foreign_names
from bbops.language.sql.parts import NotInSql
from bbops.language.sql.sqlite import SQLITE, SQLITE_CHECK
from bbops.runtime.data.rows import ENCODERS
from bbops.runtime.values.failures import FlowError

RESERVED = frozenset({
    "auth", "count", "env", "error", "event", "exists", "false", "headers", "host", "in", "input",
    "list", "not", "null", "or", "and", "if", "else", "params", "query", "request", "row", "sum",
    "trigger", "true", "vars",
})  # fmt: skip
_AUTO = {
    "increment": {"integer", "bigint"}, "uuid": {"uuid", "string", "text"},
    "created": {"datetime"}, "updated": {"datetime"},
}  # fmt: skip


def check(project: CheckedProject) -> Iterator[Diagnostic]:
    """Yield the mistakes of tables and their columns."""
    yield from _check_tables(project)
    yield from _check_columns(project)


def _check_tables(project: Project) -> Iterator[Diagnostic]:
    """Yield what is wrong inside tables and between them."""
    for table in project.tables.values():
        yield from _key(table)
        yield from _indexes(table)
        yield from _partial(project, table)
        for name, column in table.model.computed.items():
            yield from _computed(project, table, name, column)
        for name, column in table.model.columns.items():
            yield from _column(project, table, name, column)
        yield from _seed(table)
        yield from _checks(project, table)


_BESIDE = frozenset({"computed", "private", "description"})


def _computed(
    project: Project, table: Resource[Table], name: str, column: Column
) -> Iterator[Diagnostic]:
    """Yield what is wrong with a computed column."""
    place, of = table.place("columns", name, "computed"), project.sql_tables[table.name]
    if name in RESERVED:
        message = f"'{name}' is a reserved word in expressions"
        at = table.place("columns", name, key=True)
        yield Diagnostic(at, "reserved-name", message, "rename it")
    for given in column.model_fields_set - _BESIDE:
        key = Column.model_fields[given].alias or given
        at = table.place("columns", name, key, key=True)
        yield Diagnostic(at, "computed", f"a computed column has no '{key}'", "remove it")
    value = column.computed
    if isinstance(value, Expression):
        for node in foreign_names(value, of):
            found = table.at(value.mark, node.start) if value.mark else place
            yield Diagnostic(found, "computed", _OWN, "compute it where it is read")
            return
    outside = Outside(table, {}, of.stored.column_types, table.name)
    kind = outside.value(value, "columns", name, "computed").kind
    yield from outside.found
    if outside.found or not isinstance(value, Expression):
        return
    if kind not in TYPES:
        message = f"a computed column is text, a number, a time or a boolean, not {kind}"
        yield Diagnostic(place, "computed", message)
        return
    try:
        computed_sql(of, name, SQLITE)
    except NotInSql as problem:
        found = table.at(value.mark, problem.offset) if value.mark else place
        yield Diagnostic(found, problem.code, problem.message, problem.hint)


_OWN = "a computed column reads columns of its own row, and constants"


def _partial(project: Project, table: Resource[Table]) -> Iterator[Diagnostic]:
    """Yield what is wrong with the rows that indexes are of."""
    columns = project.stored_tables[table.name].column_types
    for name, index in table.model.indexes.items():
        if index.where is not None:
            outside = Outside(table, {}, columns, table.name)
            outside.condition(index.where, "indexes", name, "where")
            yield from outside.found
            if not outside.found and isinstance(index.where, Expression):
                path = ("indexes", name, "where")
                yield from _kept(project, table, index.where, path, "an index")


def _checks(project: Project, table: Resource[Table]) -> Iterator[Diagnostic]:
    columns = project.stored_tables[table.name].column_types
    outside = Outside(table, {}, columns, table.name)
    for name, check in table.model.checks.items():
        outside.condition(check, "checks", name)
    yield from outside.found
    if not outside.found:
        yield from _checks_in_sql(project, table)


def _checks_in_sql(project: Project, table: Resource[Table]) -> Iterator[Diagnostic]:
    """Yield what the database could not look at when it keeps a row."""
    for name, check in table.model.checks.items():
        if isinstance(check, Expression):
            yield from _kept(project, table, check, ("checks", name), "a check")


def _kept(
    project: Project, table: Resource[Table], condition: Expression, path: tuple[str, ...],
    what: str,
) -> Iterator[Diagnostic]:  # fmt: skip
    columns = project.stored_tables[table.name].columns
    try:
        kept_sql(table.name, columns, condition, SQLITE_CHECK, what)
    except NotInSql as problem:
        place = table.at(condition.mark, problem.offset) if condition.mark else None
        found = place or table.place(*path)
        yield Diagnostic(found, "not-in-sql", problem.message, problem.hint)


def _key(table: Resource[Table]) -> Iterator[Diagnostic]:
    model = table.model
    marked = [name for name, column in model.columns.items() if column.primary_key]
    if model.primary_key is None and len(marked) != 1:
        found = f"{len(marked)} columns say" if marked else "no column says"
        yield Diagnostic(
            table.place("columns"), "primary-key", f"{found} 'primaryKey: true'",
            "mark one column, or list several under 'primaryKey: [..]' of the table",
        )  # fmt: skip
    for at, name in enumerate(model.primary_key or ()):
        if name not in model.columns:
            yield _no_column(table, name, "primaryKey", at)
    for name in model.key:
        if name in model.columns and model.columns[name].nullable:
            yield Diagnostic(
                table.place("columns", name),
                "primary-key",
                f"'{name}' is a key and cannot be null",
            )


def _indexes(table: Resource[Table]) -> Iterator[Diagnostic]:
    for index, model in table.model.indexes.items():
        for at, name in enumerate(model.columns):
            if name not in table.model.columns:
                yield _no_column(table, name, "indexes", index, "columns", at)


def _no_column(table: Resource[Table], name: str, *path: str | int) -> Diagnostic:
    return Diagnostic(
        table.place(*path), "unknown-column", f"table '{table.name}' has no column '{name}'",
        suggest(name, table.model.columns),
    )  # fmt: skip


def _column(
    project: Project, table: Resource[Table], name: str, column: Column
) -> Iterator[Diagnostic]:
    if name in RESERVED:
        key = table.place("columns", name, key=True)
        yield Diagnostic(
            key, "reserved-name", f"'{name}' is a reserved word in expressions", "rename it"
        )
    if column.auto and column.type not in _AUTO[column.auto]:
        wanted = " or ".join(sorted(_AUTO[column.auto]))
        yield Diagnostic(
            table.place("columns", name, "auto"), "auto",
            f"'auto: {column.auto}' needs type {wanted}, not {column.type}",
        )  # fmt: skip
    if column.auto == "increment" and table.model.key != (name,):
        message = "'auto: increment' is for a primary key of one column"
        yield Diagnostic(table.place("columns", name, "auto"), "auto", message)
    if column.references is not None:
        yield from _reference(project, table, name, column.references)
    if column.on_delete == "setNull" and not column.nullable:
        yield Diagnostic(
            table.place("columns", name, "onDelete"), "on-delete",
            "'onDelete: setNull' needs 'nullable: true'",
        )  # fmt: skip
    for at, value in enumerate(column.enum or ()):
        if problem := _misfit(name, column, value):
            yield Diagnostic(table.place("columns", name, "enum", at), "type", problem)
    yield from _default(table, name, column)


def _reference(
    project: Project, table: Resource[Table], name: str, reference: str
) -> Iterator[Diagnostic]:
    at = table.place("columns", name, "references")
    other_name, _, target = reference.partition(".")
    other = project.tables.get(other_name)
    if ("tables", other_name) in project.broken:
        return
    if other is None:
        yield Diagnostic(
            at, "unknown-table", f"table '{other_name}' does not exist",
            suggest(other_name, project.tables),
        )  # fmt: skip
        return
    found = other.model.columns.get(target)
    if found is None:
        hint = suggest(target, other.model.columns)
        message = f"table '{other_name}' has no column '{target}'"
        yield Diagnostic(at, "unknown-column", message, hint)
    elif other.model.key != (target,) and not found.unique:
        yield Diagnostic(at, "reference", f"'{reference}' is neither the primary key nor unique")
    elif found.type != table.model.columns[name].type:
        own = table.model.columns[name].type
        yield Diagnostic(at, "reference", f"'{reference}' has type {found.type}, not {own}")


def _default(table: Resource[Table], name: str, column: Column) -> Iterator[Diagnostic]:
    if column.default is not None:
        problem = _misfit(name, column, column.default)
        if problem:
            yield Diagnostic(table.place("columns", name, "default"), "default", problem)


def _misfit(name: str, column: Column, value: object) -> str:
    """Return why a column cannot hold a constant, or an empty text."""
    if value is None:
        return "" if column.nullable else f"column '{name}' is not nullable"
    try:
        ENCODERS[column.type](value, name)
    except FlowError as problem:
        return problem.message
    if column.enum is not None and value not in column.enum:
        return f"'{value}' is not one of {', '.join(map(str, column.enum))}"
    return ""


def _seed(table: Resource[Table]) -> Iterator[Diagnostic]:
    columns = table.model.columns
    for at, row in enumerate(table.model.seed):
        for name, value in row.items():
            if name not in columns:
                place = table.place("seed", at, name, key=True)
                yield replace(_no_column(table, name, "seed"), place=place)
            elif problem := _misfit(name, columns[name], value):
                yield Diagnostic(table.place("seed", at, name), "type", problem)
        for name, column in columns.items() if row.keys() <= columns.keys() else ():
            is_filled = column.nullable or column.auto or column.default is not None
            if name not in row and (name in table.model.key or not is_filled):
                message = f"a seed row needs a value for '{name}'"
                yield Diagnostic(table.place("seed", at), "missing-column", message)


_LENGTHS: Final = frozenset({"string", "text", "json", "binary"})
_NUMBERS: Final = frozenset({"integer", "bigint", "number", "decimal"})
_RULES: Final = {
    "minLength": _LENGTHS, "maxLength": _LENGTHS, "minimum": _NUMBERS, "maximum": _NUMBERS,
}  # fmt: skip
_FITTING: Final = {True: "text, json or binary", False: "a number"}

Found = Iterator[tuple[str, str, str]]
"""The key, what is wrong with it, and the cure."""


def _check_columns(project: Project) -> Iterator[Diagnostic]:
    """Yield settings of columns and indexes that have no effect, or only a harmful one."""
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
