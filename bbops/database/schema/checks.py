"""The `checks` of a table, and the `where` of its indexes, in the database's form."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from bbops.base.errors import MigrationRefused
from bbops.database.schema import shape
from bbops.language.expressions.values import Expression
from bbops.language.resources.table import Table
from bbops.language.sql.checks import check_sql, kept_sql
from bbops.language.sql.dialect import Dialect
from bbops.language.sql.parts import NotInSql
from bbops.language.sql.types import SqlColumn


def texts_of(table: Table) -> dict[str, str]:
    """Return the checks of a table as they were written."""
    return {
        name: check.text for name, check in table.checks.items() if isinstance(check, Expression)
    }


def write_where(name: str, table: Table, index: str, dialect: Dialect) -> str:
    """Return the condition of a table's index; empty for all rows.

    Raises:
        MigrationRefused: it has no SQL; `bbops validate` reports it before.
    """
    where = table.indexes[index].where
    if not isinstance(where, Expression):
        return ""
    try:
        return kept_sql(name, _columns(table), where, dialect, "an index")
    except NotInSql as error:
        message = f"index '{index}' of table '{name}': {error.message}"
        raise MigrationRefused(message, hint=error.hint) from None


def _columns(table: Table) -> dict[str, SqlColumn]:
    return {
        key: SqlColumn(key, column.type, column.nullable, enum=tuple(column.enum or ()))
        for key, column in table.columns.items()
    }


def write_checks(name: str, table: Table, dialect: Dialect) -> Iterator[shape.Rule]:
    """Yield the rule of each check.

    Raises:
        MigrationRefused: one of them has no SQL; `bbops validate` reports it before.
    """
    columns = _columns(table)
    for check, condition in table.checks.items():
        if not isinstance(condition, Expression):
            continue  # `true` holds for every row
        try:
            sql = check_sql(name, columns, condition, dialect)
        except NotInSql as error:
            raise MigrationRefused(
                f"check '{check}' of table '{name}': {error.message}", hint=error.hint
            ) from None
        digest = hashlib.sha256(sql.encode()).hexdigest()[:8]
        yield shape.Rule(digest, f"ct_{name}_{check}_{digest}", sql)
