"""Endpoints of a table: what an action can be made of, and who may ask for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from bbops.base.diagnostics import Diagnostic, Place, suggest
from bbops.language.expressions.nodes import Name, walk
from bbops.language.expressions.values import Broken, Expression
from bbops.language.loading.crud import making_of, parts_of
from bbops.language.loading.crud_functions import ITEM, Making
from bbops.language.loading.crud_query import UNFIT, find_target, query_name, split_order
from bbops.language.loading.explain import explain
from bbops.language.project import Project, Resource
from bbops.language.resources._crud import RESERVED, Action, Create, Crud, List, Update
from bbops.language.resources.table import Table

_ROOTS = ("vars", "params", "env", "headers", "request")
"""What `match` may read: not what a request sends to choose the rows by."""
_INPUT = re.compile(r"\binput\s*(?:\?\.|\.)\s*([A-Za-z_]\w*)")


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield what keeps files about tables from becoming endpoints."""
    tables = {name: one.model for name, one in project.tables.items()}
    for crud in project.cruds.values():
        if crud.model.table not in tables or crud.file in project.repaired:  # told elsewhere
            continue
        found = list(_of_file(project, crud, tables))
        yield from found
        if not found:
            yield from _unread(project, crud, tables)


def _of_file(
    project: Project, crud: Resource[Crud], tables: Mapping[str, Table]
) -> Iterator[Diagnostic]:
    yield from _matches(crud, tables[crud.model.table])
    yield from _owner(project, crud)
    for name, action in crud.model.actions.every:
        yield from _names(project, crud, name, action)
        making = making_of(crud, tables, name)
        if making is None or action.function is not None:
            continue
        yield from _key(crud, making)
        for kind, rule in _RULES.items():
            if isinstance(action, kind):
                yield from rule(crud, making, action)


def _unread(
    project: Project, crud: Resource[Crud], tables: Mapping[str, Table]
) -> Iterator[Diagnostic]:
    """Yield what the endpoint or function of an action cannot be, as a file of it would say."""
    names = {f"{crud.name}/{name}" for name, _ in crud.model.actions.every}
    if names <= project.endpoints.keys():
        return
    for part in parts_of(crud, tables):
        for one in part.problems:
            document = replace(crud.document, root=one.root)
            yield from explain(crud.file, document, one.model, one.error)


def _wrong(place: Place, code: str, message: str, hint: str = "") -> Diagnostic:
    return Diagnostic(place, code, message, hint)


# ---- the file
def _matches(crud: Resource[Crud], table: Table) -> Iterator[Diagnostic]:
    model = crud.model
    if model.owner is not None and model.owner not in table.columns:
        yield _no_column(crud.place("owner"), model.table, table, model.owner)
    for column, value in model.match.items():
        if column not in table.columns:
            place = crud.place("match", column, key=True)
            yield _no_column(place, model.table, table, column)
        if isinstance(value, Broken):
            problem = value.problem
            place = crud.at(value.mark, problem.start) if value.mark else crud.place(
                "match", column
            )  # fmt: skip
            yield _wrong(place, problem.code, problem.message, problem.hint)
        elif isinstance(value, Expression):
            yield from _sources(crud, column, value)


def _sources(crud: Resource[Crud], column: str, value: Expression) -> Iterator[Diagnostic]:
    """Yield names in `match` that a request, or the row, would decide."""
    for node in walk(value.node):
        if isinstance(node, Name) and node.name not in _ROOTS:
            place = crud.at(value.mark, node.start) if value.mark else crud.place("match", column)
            yield _wrong(
                place, "unknown-name", f"'match' cannot read '{node.name}'",
                f"it reads {', '.join(_ROOTS)}; a text is written 'so'",
            )  # fmt: skip


def _owner(project: Project, crud: Resource[Crud]) -> Iterator[Diagnostic]:
    model = crud.model
    if model.owner is None:
        return
    for name, action in model.actions.every:
        channel = project.channels.get(action.channel or model.channel or "")
        authentication = action.authentication or model.authentication or (
            channel.model.authentication if channel is not None else "JWT"
        )  # fmt: skip
        if action.function is None and authentication != "JWT":
            yield _wrong(
                crud.place("owner"), "owner-needs-user",
                f"'owner' needs a signed-in user, and '{name}' has authentication:"
                f" {authentication}",
                "write 'authentication: JWT', or put what is public into a file of its own",
            )  # fmt: skip


def _names(
    project: Project, crud: Resource[Crud], name: str, action: Action
) -> Iterator[Diagnostic]:
    place, whole = crud.place("actions", name, key=True), f"{crud.name}/{name}"
    folders = ["endpoints"] if action.function else ["endpoints", "functions"]
    for folder in folders:
        other = project.resources[folder].get(whole)
        if other is not None and other.file != crud.file:
            kind = other.kind
            hint = (
                f"write 'function: {whole}' to run it, or rename it"
                if folder == "functions" else "remove one of them"
            )  # fmt: skip
            yield _wrong(
                place, "duplicate-name",
                f"'{name}' is {kind} '{whole}', which {other.file} is, too", hint,
            )  # fmt: skip


def _key(crud: Resource[Crud], making: Making) -> Iterator[Diagnostic]:
    """A table without a key is told where it stands."""
    if making.name in ITEM and making.table.key and not making.keys:
        yield _wrong(
            crud.place("actions", making.name, key=True), "crud-key",
            f"'{making.name}' has no key in its path: 'match' says all of the primary key",
            "leave a column of the key out of 'match'",
        )  # fmt: skip


def _no_column(place: Place, of: str, table: Table, name: str, more: str = "") -> Diagnostic:
    """Return that a column is not there, or only where rows are read.

    Args:
        of: the name of the table.
        more: why a name that is no column will not do either.
    """
    if name in table.computed:
        return _wrong(
            place, "computed", f"column '{name}' is computed; a stored column is needed here",
            f"write a column that '{name}' is computed out of",
        )  # fmt: skip
    return _wrong(
        place, "unknown-column", f"table '{of}' has no column '{name}'{more}",
        suggest(name, table.columns),
    )  # fmt: skip


# ---- list
def _list(crud: Resource[Crud], making: Making, model: List) -> Iterator[Diagnostic]:
    is_map, seen = isinstance(model.filter, dict), dict[str, str]()
    for at, (path, operators) in enumerate(model.filters.items()):
        place = crud.place("actions", "list", "filter", path if is_map else at, key=is_map)
        yield from _target(making, path, place, "filter")
        target = find_target(path, crud.model.table, making.tables)
        name = query_name(path)
        if name in RESERVED:
            yield _wrong(
                place, "crud-name", f"'{path}' cannot be a filter: '?{name}=' is taken by 'list'",
                "leave it out, or write the endpoint in a file of its own",
            )  # fmt: skip
        elif name in seen:
            yield _wrong(
                place, "crud-name", f"'{path}' and '{seen[name]}' are both '?{name}='",
                "leave one of them out",
            )  # fmt: skip
        seen[name] = path
        for index, one in enumerate(operators or ()):
            if target is not None and one not in target.every:
                yield _wrong(
                    crud.place("actions", "list", "filter", path, index), "crud-filter",
                    f"'{path}' of type {target.column.type} has no operator '{one}'",
                    f"it has {', '.join(target.every)}",
                )  # fmt: skip
    if model.search and "search" in model.unsupported_keys():
        yield _wrong(
            crud.place("actions", "list", "search", key=True), "not-supported",
            "this version does not run 'search' yet",
            "remove the key until a version supports it; a filter may have 'contains'",
        )  # fmt: skip
    for at, written in enumerate(model.sort):
        path, _ = split_order(written)
        yield from _target(making, path, crud.place("actions", "list", "sort", at), "sort")


def _target(making: Making, path: str, place: Place, key: str) -> Iterator[Diagnostic]:
    """Yield that requests cannot filter or sort by a column."""
    target = find_target(path, making.crud.table, making.tables)
    if target is None:
        yield _no_column(place, making.crud.table, making.table, path)
    elif target.column.private:
        yield _wrong(
            place, "crud-filter", f"'{path}' is private, so it cannot be in '{key}'",
            "whoever can order or filter by a value can find it out",
        )  # fmt: skip
    elif target.column.type in UNFIT:
        yield _wrong(
            place, "crud-filter",
            f"'{path}' is of type {target.column.type}, which '{key}' does not take",
        )  # fmt: skip


# ---- create, update
def _create(crud: Resource[Crud], making: Making, model: Create) -> Iterator[Diagnostic]:
    yield from _input(crud, making, model)
    for name in making.missing:
        yield _wrong(
            crud.place("actions", "create", key=True), "crud-input",
            f"'create' leaves '{name}' unset, and table '{crud.model.table}' needs it",
            f"add '{name}' to 'input', 'set' or 'match', or give the column a default",
        )  # fmt: skip


def _input(
    crud: Resource[Crud], making: Making, model: Create | Update
) -> Iterator[Diagnostic]:  # fmt: skip
    is_map, table = isinstance(model.input, dict), making.table
    read = {name for text in _texts(making.written.get("set")) for name in _INPUT.findall(text)}
    for at, written in enumerate(model.input):
        name = str(written).rstrip("?")
        place = crud.place(
            "actions", making.name, "input", str(written) if is_map else at, key=is_map
        )
        column = table.columns.get(name)
        if name in making.matches:
            yield _wrong(
                place, "crud-input", f"'{name}' is in 'match', so no request can set it",
                "remove it from 'input'",
            )  # fmt: skip
        elif column is None and is_map and name in read:
            continue
        elif column is None:
            more = ", and 'set' does not read it" if is_map else ""
            yield _no_column(place, crud.model.table, table, name, more)
        elif column.auto is not None:
            yield _wrong(
                place, "crud-input",
                f"'{name}' has 'auto: {column.auto}', so no request can set it",
                "remove it from 'input'",
            )  # fmt: skip
        elif name in model.set and name not in read:
            yield _wrong(
                place, "crud-input", f"'{name}' is in 'set', too, which does not read the input",
                "remove it from one of them",
            )  # fmt: skip
    for name in model.set:
        if name not in table.columns:
            place = crud.place("actions", making.name, "set", name, key=True)
            yield _no_column(place, crud.model.table, table, name)


def _update(crud: Resource[Crud], making: Making, model: Update) -> Iterator[Diagnostic]:
    yield from _input(crud, making, model)
    if not model.input and not model.set:
        yield _wrong(
            crud.place("actions", "update", key=True), "crud-input", "'update' changes nothing",
            "list the columns of 'input' that a request may change",
        )  # fmt: skip
    for name in model.set:
        if name in making.matches:
            yield _wrong(
                crud.place("actions", "update", "set", name, key=True), "crud-input",
                f"'{name}' is in 'match', so it stays what it is", "remove it from 'set'",
            )  # fmt: skip


def _texts(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        for one in node.values():
            yield from _texts(one)
    elif isinstance(node, list):
        for one in node:
            yield from _texts(one)


_RULES: Mapping[type[Any], Callable[[Resource[Crud], Making, Any], Iterator[Diagnostic]]] = {
    List: _list, Create: _create, Update: _update,
}  # fmt: skip
