"""Rename a column with what names it in tables and tests; its values stay, by `renamedFrom`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from bbops.base.diagnostics import suggest
from bbops.base.errors import BbopsError
from bbops.edit.authoring.changing import Change
from bbops.edit.authoring.moving import missing
from bbops.edit.authoring.naming import Name, parse_name
from bbops.edit.authoring.setting import set_key, unset_key
from bbops.source.yaml.document import Document
from bbops.source.yaml.edit import Edit, replace_scalar
from bbops.source.yaml.nodes import Map, Mark, Seq

_NAME = re.compile("[a-z][a-z0-9_]{0,62}").fullmatch


def parse_column(old: str, new: str) -> tuple[Name, str, str] | None:
    """Return the table, the old and the new name, where a text names a column; else None.

    Args:
        old: such as `tables/notes.title`.
        new: such as `tables/notes.heading`, or `heading` alone.

    Raises:
        BbopsError: the new one names another table.
    """
    table, dot, column = old.removesuffix(".yaml").rpartition(".")
    if not dot or not table.removeprefix("./").startswith("tables/"):
        return None
    other, _, name = new.rpartition(".")
    if other not in {"", table}:
        raise BbopsError(
            f"the column '{old}' cannot become '{new}'", hint=f"for example '{table}.{name}'"
        )
    return parse_name(table), column, name


def rename_column(change: Change, table: Name, old: str, new: str) -> None:
    """Rename a column of a table: its key, keys and indexes, checks, seeds, references and tests.

    What functions say of it stays as it is, for what they answer would change with it.

    Raises:
        BbopsError: there is no such column, or already one of the new name.
    """
    if not change.exists(table):
        raise missing(change, table)
    root = change.document(table.file).root
    columns = root.get("columns")
    known = columns if isinstance(columns, Map) else {}
    if old not in known:
        raise BbopsError(f"'{table.file}' has no column '{old}'", hint=suggest(old, known))
    if not _NAME(new):
        raise BbopsError(f"'{new}' is not the name of a column", hint="for example 'created_at'")
    if new in known:
        raise BbopsError(f"'{table.file}' has a column '{new}' already")
    _edit(change, table.file, _in_table(change.document(table.file), old, new))
    _keep_values(change, table, old, new)
    _rename_elsewhere(change, table, old, new)


def _keep_values(change: Change, table: Name, old: str, new: str) -> None:
    """Say which column the values are in; one that goes back to its old name says nothing."""
    column = change.document(table.file).root["columns"][new]
    was = column.get("renamedFrom") if isinstance(column, Map) else None
    if was is None:
        set_key(change, table, f"columns.{new}.renamedFrom", old)
    elif was == new:
        unset_key(change, table, f"columns.{new}.renamedFrom")


def _rename_elsewhere(change: Change, table: Name, old: str, new: str) -> None:
    edits: dict[str, list[Edit]] = {}
    for file, reference in change.references():
        if reference.to == table and reference.behind == f".{old}":
            to = f"{table.name}.{new}"
            edits.setdefault(file, []).append(replace_scalar(reference.mark, to))
    tests = (one.file for one in change.names() if one.folder == "tests")
    for file in tests:
        edits.setdefault(file, []).extend(_in_test(change.document(file), table, old, new))
    for file, each in edits.items():
        _edit(change, file, each)


def _edit(change: Change, file: str, edits: list[Edit]) -> None:
    if edits:
        change.edit(file, edits)


def _in_table(document: Document, old: str, new: str) -> list[Edit]:
    root = document.root
    found = [root["columns"].keys_at[old], *_listed(root.get("primaryKey"), old)]
    for index in _values(root.get("indexes")):
        found += _listed(index.get("columns") if isinstance(index, Map) else None, old)
    found += _keyed(root.get("seed"), old)
    return [*(replace_scalar(mark, new) for mark in found), *_in_checks(document, old, new)]


def _in_checks(document: Document, old: str, new: str) -> Iterator[Edit]:
    """Yield what renames the column in conditions; a quoted text in one stays as it is."""
    checks = document.root.get("checks")
    word = re.compile(rf"'(?:[^']|'')*'|(?<![\w.]){re.escape(old)}\b")
    for mark in checks.values_at.values() if isinstance(checks, Map) else ():
        for found in word.finditer(document.source, mark.start, mark.end):
            if found[0] == old:
                yield Edit(found.start(), found.end(), new)


def _in_test(document: Document, table: Name, old: str, new: str) -> list[Edit]:
    data = document.root.get("data") if isinstance(document.root, Map) else None
    rows = data.get(table.name) if isinstance(data, Map) else None
    return [replace_scalar(mark, new) for mark in _keyed(rows, old)]


def _listed(names: Any, name: str) -> list[Mark]:
    """Return where a list says a name."""
    if not isinstance(names, Seq):
        return []
    return [at for one, at in zip(names, names.items_at, strict=True) if one == name]


def _keyed(rows: Any, key: str) -> list[Mark]:
    """Return where rows of a list have a key."""
    each = rows if isinstance(rows, Seq) else ()
    return [row.keys_at[key] for row in each if isinstance(row, Map) and key in row]


def _values(node: Any) -> list[Any]:
    return list(node.values()) if isinstance(node, Map) else []
