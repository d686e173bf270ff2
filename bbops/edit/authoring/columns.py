"""Rename a column with what names it in tables and tests; its values stay, by `renamedFrom`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from bbops.base.diagnostics import suggest
from bbops.base.errors import BbopsError
from bbops.edit.authoring.changing import Change, set_key, unset_key
from bbops.edit.authoring.moving import missing
from bbops.edit.authoring.naming import Name, parse_name
from bbops.edit.authoring.references import Reference, find_references
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
    """Rename a column of a table: its key, indexes, checks, rules, seeds, references and tests.

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
    document = change.document(table.file)
    own = _named(find_references(table.file, document), table, old, new)
    _edit(change, table.file, [*_in_table(document, old, new), *own])
    _keep_values(change, table, old, new)
    _rename_elsewhere(change, table, old, new)


def _keep_values(change: Change, table: Name, old: str, new: str) -> None:
    """Say which column the values are in, if there are any; one that goes back says nothing."""
    column = change.document(table.file).root["columns"][new]
    if isinstance(column, Map) and "computed" in column:
        return
    was = column.get("renamedFrom") if isinstance(column, Map) else None
    if was is None:
        set_key(change, table, f"columns.{new}.renamedFrom", old)
    elif was == new:
        unset_key(change, table, f"columns.{new}.renamedFrom")


def _rename_elsewhere(change: Change, table: Name, old: str, new: str) -> None:
    edits: dict[str, list[Edit]] = {}
    for file, reference in change.references():
        if file != table.file:
            edits.setdefault(file, []).extend(_named([reference], table, old, new))
    tests = (one.file for one in change.names() if one.folder == "tests")
    for file in tests:
        edits.setdefault(file, []).extend(_in_test(change.document(file), table, old, new))
    for file, each in edits.items():
        _edit(change, file, each)


def _named(references: Iterable[Reference], table: Name, old: str, new: str) -> Iterator[Edit]:
    """Yield what renames the column where it is named behind its table."""
    for reference in references:
        if reference.to == table and reference.behind == f".{old}":
            yield replace_scalar(reference.mark, f"{table.name}.{new}")


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
    word = re.compile(rf"'(?:[^']|'')*'|(?<![\w.]){re.escape(old)}\b")
    for mark in _conditions(document.root):
        for found in word.finditer(document.source, mark.start, mark.end):
            if found[0] == old:
                yield Edit(found.start(), found.end(), new)


def _conditions(root: Map) -> Iterator[Mark]:
    """Yield where conditions of a table stand: its checks, and its rules."""
    for key in ("checks", "access"):
        if isinstance(found := root.get(key), Map):
            yield from found.values_at.values()
    for holder, key in (("columns", "computed"), ("indexes", "where")):
        for one in _values(root.get(holder)):
            if isinstance(one, Map) and key in one:
                yield one.values_at[key]
    for key in ("scope", "softDelete"):
        if key in root:
            yield root.values_at[key]


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
