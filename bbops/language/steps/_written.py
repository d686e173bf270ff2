"""The rows that a step writes: their columns, and what the rules of the table say of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from bbops.language.expressions.values import MapValue, Value
from bbops.language.sql.ruled import is_touched, meets, reads_again
from bbops.language.sql.types import Column, Table
from bbops.language.steps._checking import Checking
from bbops.runtime.values.identifiers import quote
from bbops.source.yaml.document import Mark


def check_written(at: Checking, table: Table, data: Value, *operations: str) -> None:
    """Refuse rows that a rule must look at by reading the written table again."""
    if not any(is_looked_at(table, data, one) for one in operations):
        return
    if reads_again(table, *operations):
        message = f"the rule of '{table.name}' reads its table again, while rows of it are written"
        hint = "let the rule read other tables, or give a reason in 'bypassAccess'"
        at.report(None, "rule-reads-itself", message, hint)


def is_looked_at(table: Table, data: Value, operation: str) -> bool:
    """Return whether a rule must look at the written row: it does not meet it as it is made."""
    given = dict(data.items) if isinstance(data, MapValue) else None
    rules = [] if table.rules is None else table.rules.of(operation)
    if operation == "update":
        written = _written(table, given)
        return any(is_touched(table, one, written) for one in rules)
    return not all(meets(table, one, given or {}) for one in rules)


def _written(table: Table, given: Mapping[str, Value] | None) -> Collection[str]:
    """Return the columns that an update sets, those that move by themselves among them."""
    if given is None:
        return table.columns
    return {*given, *(name for name, one in table.columns.items() if one.auto == "updated")}


def report_computed(at: Checking, name: str, mark: Mark | None) -> None:
    """Report a value for a column that is computed."""
    message = f"column '{name}' is computed, so it takes no value"
    at.report(mark, "computed", message, "write the columns that it is computed out of")


def returning(table: Table, columns: Sequence[str]) -> tuple[str, list[Column]]:
    """Return the list of columns as SQL, and the columns."""
    names = ", ".join(f"{quote(table.name)}.{quote(name)}" for name in columns)
    return names, [table.columns[name] for name in columns]


def bare_columns(columns: Sequence[str]) -> str:
    """Return columns for RETURNING, where SQLite wants them without their table."""
    return ", ".join(map(quote, columns))
