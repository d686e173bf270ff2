"""PostgreSQL's DDL for a project's tables and for those of bbops.

A stored value has the form of SQLite, `bbops.database.schema.conversions.Stored`: the one form
that plans, conversions and seed rows use, whatever the database.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import psycopg

from bbops.database.postgres.publications import PUBLICATION_TABLES
from bbops.database.postgres.work import WORK_TABLES
from bbops.database.schema import shape
from bbops.database.schema.conversions import Stored, encode, guess_type, literal
from bbops.database.schema.ddl import Ddl
from bbops.database.schema.place import fit_name
from bbops.language.sql.postgres import POSTGRES

_STORAGE: Final = {
    "string": "text", "text": "text", "integer": "bigint", "bigint": "bigint",
    "number": "double precision", "decimal": "numeric", "boolean": "boolean", "uuid": "uuid",
    "date": "date", "time": "time without time zone", "datetime": "timestamp with time zone",
    "json": "json", "binary": "bytea",
}  # fmt: skip


class PostgresDdl(Ddl):
    """Texts are ordered by code point, as on every database: `COLLATE "C"`."""

    dialect = POSTGRES

    def fit(self, name: str) -> str:
        return fit_name(name)

    def storage(self, column_type: str) -> str:
        return _STORAGE[column_type]

    def literal(self, stored: Stored, column_type: str) -> str:
        storage = self.storage(column_type)
        if stored is None:
            return f"NULL::{storage}"
        written = text_of(stored, column_type).replace("'", "''")
        return f"'{written}'::{storage}"

    def compared(self, column: str, column_type: str) -> str:
        del column_type  # every type compares by value
        return column

    def own_rules(self, column: str, column_type: str) -> Iterator[str]:
        del column, column_type  # each type accepts only valid values
        return iter(())


def text_of(stored: Stored, column_type: str) -> str:
    """Return PostgreSQL's text for a stored value of that type."""
    if column_type == "boolean":
        return "true" if stored else "false"
    if isinstance(stored, bytes):
        return f"\\x{stored.hex()}"
    return repr(stored) if isinstance(stored, float) else str(stored)


def stored_of(text: str, column_type: str) -> Stored:
    """Return the stored form of PostgreSQL's text.

    Raises:
        ValueError: it is not a value of that type.
    """
    readers: dict[str, Any] = {
        "boolean": lambda text: {"true": True, "false": False}[text],
        "integer": int, "bigint": int, "number": float,
        "binary": lambda text: bytes.fromhex(text.removeprefix("\\x")),
    }  # fmt: skip
    if column_type == "json":
        return text
    reader = readers.get(column_type, str)
    try:
        return encode(column_type, reader(text))
    except KeyError:
        raise ValueError(f"expected a value of type {column_type}") from None


def read_default(expression: str, storage: str) -> str:
    """Return a default in the form of `schema.literals.literal`, else unchanged."""
    kind = guess_type(_STORAGE.__getitem__, storage, "text")
    text = _strip(expression)
    if text is None:
        return expression
    try:
        if kind == "json":
            return literal(encode("json", json.loads(text)))
        return literal(stored_of(text, kind))
    except ValueError:
        return expression


def _strip(expression: str) -> str | None:
    """Return the value of a constant: `'a''b'::text` is a'b; None for other expressions."""
    text = expression.strip()
    if text.startswith("'"):
        end = _closing(text)
        rest = text[end + 1 :]
        is_cast = not rest or (rest.startswith("::") and "(" not in rest.partition("(")[0])
        return text[1:end].replace("''", "'") if is_cast else None
    text = text.removeprefix("(").removesuffix(")").partition("::")[0].strip("()")
    is_plain = text in {"true", "false"} or text.lstrip("-").replace(".", "", 1).isdigit()
    return text if is_plain else None


def _closing(text: str) -> int:
    at = 1
    while at < len(text):
        if text[at] == "'":
            if text[at + 1 : at + 2] != "'":
                return at
            at += 1
        at += 1
    return at


def create_table(name: str, table: shape.Table) -> str:
    """Return the statement that makes a table without indexes and references."""
    lines = [write_column(key, column) for key, column in table.columns.items()]
    lines += [write_rule(rule) for rule in table.rules]
    if table.key:
        lines.append(f"PRIMARY KEY ({listed(table.key)})")
    return f'CREATE TABLE "{name}" (\n  ' + ",\n  ".join(lines) + "\n)"


def write_column(name: str, column: shape.Column, default: str | None = None) -> str:
    """Return the definition of a column; `default` replaces its own default."""
    default = column.default_sql if default is None else default
    words = [f'"{name}" {write_type(column.type)}']
    words += [f"DEFAULT {default}"] if default is not None else []
    words += ["GENERATED BY DEFAULT AS IDENTITY"] if column.counts else []
    words += [] if column.nullable else ["NOT NULL"]
    words += [write_rule(rule) for rule in sorted(column.rules, key=lambda rule: rule.name)]
    return " ".join(words)


def write_type(storage: str) -> str:
    """Return a type with the order of its texts."""
    return 'text COLLATE "C"' if storage == "text" else storage


def write_rule(rule: shape.Rule) -> str:
    """Return the definition of a check."""
    return f'CONSTRAINT "{rule.name}" CHECK ({rule.sql})'


def write_reference(column: str, to: shape.Reference) -> str:
    """Return the definition of a foreign key, deferrable, so rows may come in any order."""
    return (
        f'CONSTRAINT "{to.name}" FOREIGN KEY ("{column}") REFERENCES "{to.table}" ("{to.column}")'
        f" ON DELETE {to.on_delete} DEFERRABLE INITIALLY IMMEDIATE"
    )


def create_index(table: str, name: str, index: shape.Index, *, beside: bool = False) -> str:
    """Return the statement that creates an index; `beside` allows writes meanwhile."""
    unique = "UNIQUE " if index.unique else ""
    how = "CONCURRENTLY " if beside else ""
    only = f" WHERE ({index.where})" if index.where else ""
    return f'CREATE {unique}INDEX {how}"{name}" ON "{table}" ({listed(index.columns)}){only}'


OF_ROWS: Final = "of rows where "


def note_where(name: str, index: shape.Index) -> str:
    """Return the statement that notes the condition of an index, in our form.

    PostgreSQL returns it in its own form. An index without a note is not ours.
    """
    note = (OF_ROWS + index.where).replace("'", "''")
    return f"""COMMENT ON INDEX "{name}" IS '{note}'"""


def listed(columns: tuple[str, ...]) -> str:
    """Return quoted names with commas between them."""
    return ", ".join(f'"{column}"' for column in columns)


_TABLES: Final = (
    """
CREATE TABLE IF NOT EXISTS _bbops_schema (
  id integer PRIMARY KEY CHECK (id = 1), hash text NOT NULL, spec text NOT NULL,
  applied_at text NOT NULL
)
""",
    # A sign-in is a family of tokens: each but the newest refers to its successor.
    # A user's key is kept as JSON: it may be a number or a text.
    """
CREATE TABLE IF NOT EXISTS _bbops_refresh_tokens (
  hash text PRIMARY KEY, family text NOT NULL, user_id text NOT NULL,
  expires_at double precision NOT NULL, successor text
)
""",
    *(
        f"CREATE INDEX IF NOT EXISTS _bbops_refresh_tokens_{column}"
        f" ON _bbops_refresh_tokens ({column})"
        for column in ("family", "user_id", "expires_at")
    ),
    # The successor of a token that has just been replaced; empty most of the time.
    """
CREATE TABLE IF NOT EXISTS _bbops_refresh_salts (
  hash text PRIMARY KEY, salt text NOT NULL, replaced_at double precision NOT NULL
)
""",
    """
CREATE TABLE IF NOT EXISTS _bbops_api_keys (
  id text PRIMARY KEY, hash text NOT NULL UNIQUE, prefix text NOT NULL, name text NOT NULL,
  channels text, claims text, created_at double precision NOT NULL, expires_at double precision,
  revoked_at double precision
)
""",
    # Apart from the keys: they are read at requests, and this is written every minute.
    """
CREATE TABLE IF NOT EXISTS _bbops_api_key_uses (
  id text PRIMARY KEY, used_at double precision NOT NULL
)
""",
    # A packed response: status, body, headers and type. Null: there is none yet.
    """
CREATE TABLE IF NOT EXISTS _bbops_idempotency (
  id text PRIMARY KEY, request text NOT NULL, began_at double precision NOT NULL, answer bytea
)
""",
    "CREATE INDEX IF NOT EXISTS _bbops_idempotency_began_at ON _bbops_idempotency (began_at)",
    "CREATE TABLE IF NOT EXISTS _bbops_notes (name text PRIMARY KEY, text text NOT NULL)",
    # The time of the next request for an account at a vendor: see `bbops.runtime.vendors._pace`.
    """
CREATE TABLE IF NOT EXISTS _bbops_pace (account text PRIMARY KEY, free double precision NOT NULL)
""",
    # The user of a provider's subject; a user's key is stored as JSON.
    """
CREATE TABLE IF NOT EXISTS _bbops_identities (
  issuer text NOT NULL, subject text NOT NULL, user_id text NOT NULL,
  created_at double precision NOT NULL, PRIMARY KEY (issuer, subject)
)
""",
    # Finished sign-ins of a browser, for as long as it could repeat them.
    """
CREATE TABLE IF NOT EXISTS _bbops_used_sign_ins (
  id text PRIMARY KEY, expires_at double precision NOT NULL
)
""",
    *WORK_TABLES,
    *PUBLICATION_TABLES,
)


def make_own_tables(live: psycopg.Connection[Any]) -> None:
    """Create the missing tables."""
    for statement in _TABLES:
        live.execute(statement.encode())
