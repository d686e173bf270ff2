"""Tables and edits of them that tests of migrations share."""

from __future__ import annotations

import contextlib
import copy
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bbops.language.resources.table import Table

ID = {"type": "integer", "primaryKey": True, "auto": "increment"}
BASE: dict[str, Any] = {
    "users": {
        "columns": {
            "id": {"type": "uuid", "primaryKey": True, "auto": "uuid"},
            "email": {"type": "string", "unique": True, "maxLength": 50},
            "age": {"type": "integer", "nullable": True, "minimum": 0},
            "role": {"type": "string", "enum": ["a:b", "it's"], "default": "it's"},
            "created_at": {"type": "datetime", "auto": "created"},
        }
    },
    "notes": {
        "columns": {
            "id": ID,
            "title": {"type": "string", "minLength": 1},
            "body": {"type": "text", "nullable": True},
            "done": {"type": "boolean", "default": False},
            "score": {"type": "number", "default": -0.5},
            "price": {"type": "decimal", "nullable": True, "minimum": 0},
            "user_id": {"type": "uuid", "references": "users.id", "onDelete": "cascade"},
        },
        "indexes": {"notes_by_title": {"columns": ["title"]}},
    },
}
USER = "00000000-0000-4000-8000-000000000001"


def declare(spec: dict[str, Any]) -> dict[str, Table]:
    return {name: Table.model_validate(table) for name, table in spec.items()}


def changed(edit: Callable[[dict[str, Any]], object]) -> dict[str, Table]:
    spec = copy.deepcopy(BASE)
    edit(spec)
    for table in spec.values():
        for name, keys in table["columns"].items():
            table["columns"][name] = {key: it for key, it in keys.items() if it is not None}
    return declare(spec)


def column(table: str, name: str, **keys: Any) -> Callable[[dict[str, Any]], object]:
    return lambda spec: spec[table]["columns"].setdefault(name, {}).update(keys)


def query(path: Path, sql: str) -> list[Any]:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        return connection.execute(sql).fetchall()


def schema_of(path: Path) -> list[Any]:
    return query(path, "SELECT name, sql FROM sqlite_master ORDER BY name")
