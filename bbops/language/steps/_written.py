"""The rows that a step writes: their columns, and the rules of the table on them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from bbops.language.expressions.values import MapValue, Value
from bbops.language.sql.ruled import is_touched, meets, reads_again
from bbops.language.sql.types import SqlColumn, SqlTable
from bbops.language.steps._checking import Checking
from bbops.runtime.values.identifiers import quote
from bbops.source.yaml.document import Mark


def check_written(at: Checking, table: SqlTable, data: Value, *operations: str) -> None:
    """Refuse rows whose rules must read the written table again."""
    if not any(is_looked_at(table, data, operation) for operation in operations):
        return
    if reads_again(table, *operations):
        message = f"the rule of '{table.name}' reads its table again, while rows of it are written"
        hint = "let the rule read other tables, or give a reason in 'bypassAccess'"
        at.report(None, "rule-reads-itself", message, hint)


def is_looked_at(table: SqlTable, data: Value, operation: str) -> bool:
    """Return whether a rule must test the written row: its values do not prove the rule."""
    given = dict(data.items) if isinstance(data, MapValue) else None
    rules = [] if table.rules is None else table.rules.of(operation)
    if operation == "update":
        written = _written(table, given)
        return any(is_touched(table, rule, written) for rule in rules)
    return not all(meets(table, rule, given or {}) for rule in rules)


def _written(table: SqlTable, given: Mapping[str, Value] | None) -> Collection[str]:
    """Return the columns that an update sets, with the automatic ones."""
    if given is None:
        return table.columns
    return {*given, *(name for name, column in table.columns.items() if column.auto == "updated")}


def report_computed(at: Checking, name: str, mark: Mark | None) -> None:
    """Report a value for a column that is computed."""
    message = f"column '{name}' is computed, so it takes no value"
    at.report(mark, "computed", message, "write the columns that it is computed out of")


def returning(table: SqlTable, columns: Sequence[str]) -> tuple[str, list[SqlColumn]]:
    """Return the list of columns as SQL, and the columns."""
    names = ", ".join(f"{quote(table.name)}.{quote(name)}" for name in columns)
    return names, [table.columns[name] for name in columns]


def bare_columns(columns: Sequence[str]) -> str:
    """Return columns for RETURNING, where SQLite requires names without the table."""
    return ", ".join(map(quote, columns))
