"""SQL triggers of a PostgreSQL schema that report changed rows.

One per statement, over all of its rows: 20,000 rows cost half of what row triggers do. Rows of an
update are paired by their key; if that changes, or there is none, they are reported as a delete and
an insert. Migrations are silent: a setting of their transaction says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import psycopg

from bbops.database.schema import shape
from bbops.database.schema.conversions import literal
from bbops.database.schema.place import fit_name
from bbops.database.schema.row_events import ByTable, Condition, RowEvents, refuse
from bbops.runtime.work.rows import Operation, row_event

QUIET: Final = "SET LOCAL bbops.quiet = 'on'"
"""Reports no changes of the transaction."""

_NOTHING: Final = RowEvents((), ())
_PREFIX: Final = "_bbops_on_"
_TRIGGERS: Final = (
    "SELECT t.relname, g.tgname FROM pg_trigger AS g JOIN pg_class AS t ON t.oid = g.tgrelid"
    " WHERE t.relnamespace = current_schema()::regnamespace AND NOT g.tgisinternal"
    f" AND left(g.tgname, {len(_PREFIX)}) = '{_PREFIX}'"
)
_FUNCTIONS: Final = (
    "SELECT proname FROM pg_proc WHERE pronamespace = current_schema()::regnamespace"
    f" AND left(proname, {len(_PREFIX)}) = '{_PREFIX}'"
)
_OTHERS: Final = (
    "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace"
    " AND relkind IN ('r', 'p') AND NOT pg_has_role(relowner, 'USAGE')"
)
"""Tables of other owners, whose triggers this role cannot drop."""

_CLOSED: Final = f"{_OTHERS} AND NOT has_table_privilege(oid, 'TRIGGER')"
_ROLE: Final = (
    "SELECT current_user, has_schema_privilege(current_schema(), 'CREATE')"
    " WHERE current_schema() IS NOT NULL"
)
_AS_TEXT: Final = frozenset({
    "date", "double precision", "json", "jsonb", "numeric", "timestamp with time zone",
})  # fmt: skip
_STORED: Final = {
    "text": {"text", "character varying"}, "integer": {"integer", "bigint"},
    "number": {"double precision"}, "boolean": {"boolean"},
}  # fmt: skip
_REFERENCING: Final[dict[Operation, str]] = {
    "insert": "NEW TABLE AS new_rows",
    "update": "NEW TABLE AS new_rows OLD TABLE AS old_rows",
    "delete": "OLD TABLE AS old_rows",
}
_SETTINGS: Final = (
    "SET timezone TO 'UTC' SET datestyle TO 'ISO' SET extra_float_digits TO 1"
    " SET standard_conforming_strings TO on"
)
_CAUSE: Final = "string_to_array(coalesce(current_setting('bbops.cause', true), ''), ' ')"
_SELECT: Final = (
    "INSERT INTO _bbops_outbox (name, key, payload, at, cause, depth)"
    " SELECT {name}, '', {payload}, floor(1000 * extract(epoch FROM clock_timestamp()))::bigint,"
    " coalesce(cause[1], ''), coalesce(cause[2], '0')::bigint FROM {rows};"
)


def make_row_triggers(
    live: psycopg.Connection[Any], schema: str, wanted: ByTable, have: shape.Shape
) -> None:
    """Report these changes, for existing tables and columns.

    A trigger that only the owner of its table can drop stays, and reports nothing.

    Raises:
        TriggerRefused: this role may not create a trigger.
    """
    there = {table: events for table, events in wanted.items() if table in have}
    names, found = _names(there), _find(live)
    if names.keys() - found:
        refuse(find_refused_triggers(live, schema, there))
    others = {table for (table,) in live.execute(_OTHERS).fetchall()} if found else set[str]()
    for table, name in sorted(found - names.keys()):
        if table in others:
            there.setdefault(table, _NOTHING)
        else:
            live.execute(f'DROP TRIGGER "{name}" ON "{table}"'.encode())
    for table, events in there.items():
        live.execute(_function(schema, table, events, have[table]).encode())
        live.execute(f'REVOKE ALL ON FUNCTION "{_name(table)}"() FROM PUBLIC'.encode())
    for table, name in sorted(names.keys() - found):
        operation = names[table, name]
        live.execute(
            f'CREATE TRIGGER "{name}" AFTER {operation.upper()} ON "{table}"'
            f" REFERENCING {_REFERENCING[operation]} FOR EACH STATEMENT"
            f' EXECUTE FUNCTION "{_name(table)}"()'.encode()
        )
    _clean(live, {_name(table) for table in there})


def find_refused_triggers(
    live: psycopg.Connection[Any], schema: str, wanted: ByTable
) -> dict[str, str]:
    """Return the tables on which this role cannot create the missing triggers.

    Returns:
        The statement that allows it, by table. Missing tables are left out.
    """
    missing = {table for table, _ in _names(wanted).keys() - _find(live)}
    rows = live.execute(_ROLE).fetchall() if missing else []
    if not rows:
        return {}
    ((role, can_create),) = rows
    if not can_create:
        return dict.fromkeys(sorted(missing), f'GRANT CREATE ON SCHEMA "{schema}" TO "{role}"')
    closed = {table for (table,) in live.execute(_CLOSED).fetchall()}
    return {
        table: f'GRANT TRIGGER ON TABLE "{schema}"."{table}" TO "{role}"'
        for table in sorted(missing & closed)
    }


def _names(tables: ByTable) -> dict[tuple[str, str], Operation]:
    """Return the operations of triggers by their tables and names."""
    return {
        (table, fit_name(f"{_PREFIX}{operation}_{table}")): operation
        for table, events in tables.items() for operation in events.operations
    }  # fmt: skip


def _find(live: psycopg.Connection[Any]) -> set[tuple[str, str]]:
    """Return the tables and names of the existing triggers."""
    return {(table, name) for table, name in live.execute(_TRIGGERS).fetchall()}


def _clean(live: psycopg.Connection[Any], needed: set[str]) -> None:
    """Drop the functions that no trigger calls any more."""
    for (name,) in live.execute(_FUNCTIONS).fetchall():
        if name not in needed:
            live.execute(f'DROP FUNCTION "{name}"()'.encode())


def _name(table: str) -> str:
    return fit_name(f"{_PREFIX}{table}")


def _function(schema: str, table: str, events: RowEvents, have: shape.Table) -> str:
    columns = [(name, have.columns[name].type) for name in events.columns if name in have.columns]
    branches = "\n".join(
        f"ELSIF TG_OP = '{operation.upper()}' THEN NULL;\n"
        + "\n".join(_told(table, operation, columns, have, events))
        for operation in events.operations
    )
    return (
        f'CREATE OR REPLACE FUNCTION "{_name(table)}"() RETURNS trigger LANGUAGE plpgsql'
        f' SECURITY DEFINER SET search_path TO "{schema}", pg_temp {_SETTINGS} AS $bbops$\n'
        f"DECLARE cause text[] := {_CAUSE};\n"
        "BEGIN IF current_setting('bbops.quiet', true) = 'on' THEN RETURN NULL;\n"
        f"{branches}\nEND IF; RETURN NULL; END $bbops$"
    )


def _told(
    table: str,
    operation: Operation,
    columns: Sequence[tuple[str, str]],
    have: shape.Table,
    events: RowEvents,
) -> Iterator[str]:
    new, old = _row("n", columns), _row("o", columns)
    inserted = f"json_build_object('newRow', {new})::text"
    deleted = f"json_build_object('oldRow', {old})::text"
    asked = {name: _asked(events.conditions.get(name), have) for name in events.operations}
    if operation == "insert":
        yield _insert(table, "insert", inserted, f"new_rows AS n WHERE {asked['insert']}")
    elif operation == "delete":
        yield _insert(table, "delete", deleted, f"old_rows AS o WHERE {asked['delete']}")
    else:
        key = have.key
        if key:
            by = ", ".join(f'"{column}"' for column in key)
            both = f"json_build_object('newRow', {new}, 'oldRow', {old})::text"
            rows = f"new_rows AS n JOIN old_rows AS o USING ({by}) WHERE {asked['update']}"
            yield _insert(table, "update", both, rows)
        alone = "NOT EXISTS (SELECT 1 FROM {other} AS x WHERE ({same}))" if key else "true"
        if "delete" in events.operations:
            without = alone.format(other="new_rows", same=_same(key, "o"))
            rows = f"old_rows AS o WHERE {without} AND {asked['delete']}"
            yield _insert(table, "delete", deleted, rows)
        if "insert" in events.operations:
            without = alone.format(other="old_rows", same=_same(key, "n"))
            rows = f"new_rows AS n WHERE {without} AND {asked['insert']}"
            yield _insert(table, "insert", inserted, rows)


def _asked(condition: Condition | None, have: shape.Table) -> str:
    """Return the condition on a change; empty if the columns do not fit the condition."""
    if condition is None or not all(_fits(name, of, have) for name, of in condition.reads):
        return "true"
    return f"({condition.postgres})"


def _fits(column: str, kind: str, have: shape.Table) -> bool:
    if column not in have.columns:
        return False
    return have.columns[column].type.partition("(")[0] in _STORED[kind]


def _same(key: Sequence[str], row: str) -> str:
    return " AND ".join(f'x."{column}" = {row}."{column}"' for column in key)


def _insert(table: str, operation: Operation, payload: str, rows: str) -> str:
    return _SELECT.format(name=literal(row_event(table, operation)), payload=payload, rows=rows)


def _row(row: str, columns: Sequence[tuple[str, str]]) -> str:
    """Return a row as SQL: a list of one object, as SQLite's has several."""
    told = ", ".join(f'{_value(row, name, of)} AS "{name}"' for name, of in columns)
    return f"json_build_array((SELECT to_json(r) FROM (SELECT {told}) AS r))"


def _value(row: str, name: str, of: str) -> str:
    value = f'{row}."{name}"'
    bare = of.partition("(")[0]
    if bare == "bytea":
        return f"encode({value}, 'hex')"
    return f"{value}::text" if bare in _AS_TEXT else value
