"""The functions of a table's actions, and the parts that they are made of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bbops.language.expressions.values import Expression
from bbops.language.loading.crud_query import (
    Target,
    both_ways,
    conditions,
    find_target,
    is_open,
    operators_of,
    query_fields,
    split_order,
)
from bbops.language.loading.likes import TYPES
from bbops.language.resources._crud import RESERVED, Create, Crud, List, Update
from bbops.language.resources.table import Table
from bbops.source.yaml import made
from bbops.source.yaml.nodes import Map, Mark, Seq, Text


def make_function(making: Making, model: Any) -> Map:
    """Return the file of the function that an action becomes."""
    return made.entries(making.at, _MAKERS[making.name](making, model))


def _list(making: Making, model: List) -> dict[str, Any]:
    at, targets = making.at, making.targets(model)
    where = making.where(*conditions(model, making.written, targets, at))
    find: dict[str, Any] = {} if where is True else {"where": where}
    find |= making.selected
    orders = making.orders(model)
    if orders:
        find["orderBy"] = making.expression("query.sort")
    find |= {
        "limit": making.expression("query.limit"), "after": making.expression("query.cursor"),
    }  # fmt: skip
    steps = [
        making.step("find", find, "page"), making.answer(making.expression("vars.page")),
    ]  # fmt: skip
    if model.total:
        counted = making.step("find", find | {"withTotal": True}, "page")
        then = [counted, making.answer(making.expression("vars.page"))]
        test = made.text(at, "query.total")
        steps.insert(0, made.entries(at, {"if": test, "then": made.items(at, then)}))
    return {
        **making.params(), "query": query_fields(model, making.written, targets, orders, at),
        "strictQuery": True, "steps": made.items(at, steps),
    }  # fmt: skip


def _get(making: Making, _model: Any) -> dict[str, Any]:
    find = {"where": making.where(), **making.selected, "one": "required"}
    steps = [making.step("find", find, "row"), making.answer(making.expression("vars.row"))]
    return {**making.params(), "steps": made.items(making.at, steps)}


def _create(making: Making, _model: Create) -> dict[str, Any]:
    shape = making.inputs()
    columns = making.input_columns(shape)
    given = {name: making.expression(f"input.{name}") for name in columns}
    data = made.joined(making.matched(), made.entries(making.at, given), making.set)
    insert = making.step("insert", {"data": data}, "row")
    steps = [*making.referred(columns), *making.written_row(insert, 201)]
    return {
        **making.params(), **({"input": shape} if shape is not None else {}),
        "steps": made.items(making.at, steps),
    }  # fmt: skip


def _update(making: Making, _model: Update) -> dict[str, Any]:
    at, shape = making.at, making.inputs()
    columns, own = making.input_columns(shape), making.set
    names = ", ".join(f"'{name}'" for name in columns)
    before = list(making.referred(columns))
    if not columns:
        data: Any = own
    elif own:
        before.append(made.entries(at, {"set": made.entries(at, {"changed": own})}))
        data = making.expression(f"input | pick({names}) | merge(vars.changed)")
    else:
        data = making.expression(f"input | pick({names})")
    refuses = making.may_refuse("update")
    one = True if refuses else "required"
    update = making.step("update", {"where": making.where(), "data": data, "one": one}, "row")
    write, *after = making.written_row(update)
    if refuses and after:
        after = [*making.refusing(), *after]
    elif refuses:
        inner = write["transaction"]
        steps = [inner[0], *making.refusing(), *inner[1:]]
        write = made.entries(at, {"transaction": made.items(at, steps)})
    return {
        **making.params(), **({"input": shape} if shape is not None else {}),
        "steps": made.items(at, [*before, write, *after]),
    }  # fmt: skip


def _delete(making: Making, _model: Any) -> dict[str, Any]:
    refuses = making.may_refuse("delete")
    one = True if refuses else "required"
    delete = making.step("delete", {"where": making.where(), "one": one}, "row" * refuses)
    gone = made.entries(making.at, {"return": made.entries(making.at, {"status": 204})})
    steps = [delete, *(making.refusing() if refuses else ()), gone]
    return {**making.params(), "steps": made.items(making.at, steps)}


_MAKERS: Mapping[str, Callable[[Making, Any], dict[str, Any]]] = {
    "list": _list, "get": _get, "create": _create, "update": _update, "delete": _delete,
}  # fmt: skip


# ---- The parts of generated functions for a table's actions: conditions, fields and steps

ITEM = frozenset({"get", "update", "delete"})
"""Actions on one row."""
NOT_THERE = "the row that '{column}' refers to does not exist"
_PLAIN_NAME = re.compile(r"[a-z][a-z0-9_]*").fullmatch


@dataclass(frozen=True, slots=True)
class Making:
    """One action of a table, and the parts of its function.

    Attributes:
        root: the file.
        written: the action.
        at: the place of the action.
    """

    crud: Crud
    table: Table
    tables: Mapping[str, Table]
    root: Map
    name: str
    written: Map
    at: Mark

    # ---- parts
    @property
    def matches(self) -> Mapping[str, Text]:
        """The required value of each column of `match`, as bare expressions."""
        if self.crud.owner is not None:
            owner = self.root["owner"]
            user = made.text(self.root.values_at["owner"], "vars.auth.userId")
            return {str(owner): user} if str(owner) in self.table.columns else {}
        found = {}
        for column, value in (self.root.get("match") or {}).items():
            if str(column) in self.table.columns:
                mark = self.root["match"].values_at[column]
                given = value if isinstance(value, Text) else made.text(mark, _constant(value))
                found[str(column)] = given
        return found

    def matched(self) -> Map:
        """Return the values of a new row in the columns of `match`."""
        values = {
            column: made.text(value.mark, "${ ", value, " }")
            for column, value in self.matches.items()
        }  # fmt: skip
        return made.entries(self.at, values)

    @property
    def set(self) -> Map:
        """The values of existing columns that are set apart from the request."""
        given = self.written.get("set") or made.entries(self.at, {})
        return made.chosen(given, [name for name in given if name in self.table.columns])

    @property
    def missing(self) -> list[str]:
        """The required columns of a new row without a source."""
        given = {*self.matches, *self.input_columns(self.inputs()), *self.set}
        return [
            name for name, column in self.table.columns.items()
            if name not in given and column.auto is None
            and column.default is None and not column.nullable
        ]  # fmt: skip

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the primary key in the path: `match` gives the others."""
        return tuple(name for name in self.table.key if name not in self.matches)

    def where(self, *more: Text) -> Any:
        """Return the condition of the action's rows; True for all rows."""
        parts: list[list[str]] = []
        for column, value in self.matches.items():
            closed = _is_closed(value)
            parts.append([f"{column} == ", *([value] if closed else ["(", value, ")"])])
        if self.name in ITEM:
            parts += [[f"{key} == params.{key}"] for key in self.keys]
        parts += [[condition] for condition in more]
        if not parts:
            return True
        pieces = [piece for part in parts for piece in (" and ", *part)]
        return made.text(self.at, *pieces[1:])

    def params(self) -> dict[str, Any]:
        """Return the shape of the path's parameters with known types."""
        fields: dict[str, Any] = {}
        for name in re.findall(r":([A-Za-z0-9_]+)", self.crud.path):
            column = next((c for c, v in self.matches.items() if v == f"params.{name}"), None)
            if column is not None:
                fields[name] = self.field(column, self.at)
        if self.name in ITEM:
            fields |= {key: self.field(key, self.at) for key in self.keys}
        return {"params": made.entries(self.at, fields)} if fields else {}

    def field(self, name: str, at: Mark, **more: Any) -> Any:
        """Return the field with the type of a column of the table."""
        column = self.table.columns[name]
        if column.type in TYPES:
            return made.entries(at, {"like": f"{self.crud.table}.{name}", **more})
        usual = "string?" if column.nullable else "string"
        return made.entries(at, {"type": usual, **more}) if more else usual

    # ---- answers
    @property
    def select(self) -> tuple[str, Any] | None:
        """The selection of an answer, and its place; None for all columns."""
        for keys in (self.written, self.root):
            if "select" in keys:
                return "select", keys["select"]
        private = {name for name, column in self.table.columns.items() if column.private}
        if private or any(column.private for column in self.table.computed.values()):
            shown = [name for name in self.table.columns if name not in private]
            shown += [
                name for name, column in self.table.computed.items()
                if not column.private and private.isdisjoint(column.reads)
            ]  # fmt: skip
            return "select", made.items(self.at, shown)
        return None

    @property
    def selected(self) -> dict[str, Any]:
        """The key `select` of a `find`."""
        return dict([self.select] if self.select else [])

    def step(self, action: str, parameters: Mapping[str, Any], as_: str = "") -> Map:
        """Return a step."""
        beside = {"as": as_} if as_ else {}
        inner = made.entries(self.at, {"table": self.root["table"], **parameters})
        return made.entries(self.at, {action: inner, **beside})

    def expression(self, inner: str) -> Text:
        """Return `${ … }`."""
        return made.text(self.at, "${ ", inner, " }")

    def answer(self, value: Any, status: int = 200) -> Map:
        """Return the step that returns the answer."""
        given = {"status": status, "value": value} if status != 200 else value
        inner = made.entries(self.at, given) if isinstance(given, dict) else given
        if isinstance(given, Map):
            inner = made.entries(self.at, {"value": given})
        return made.entries(self.at, {"return": inner})

    def written_row(self, write: Map, status: int = 200) -> list[Map]:
        """Return a step that writes `vars.row`, and the steps that return the row.

        Selected columns of related rows are read after it, in one transaction.
        """
        shown = _of_row(self.select[1]) if self.select else {}
        if shown is None:
            key = " and ".join(f"{name} == vars.row.{name}" for name in self.table.key)
            find = {"where": made.text(self.at, key), **self.selected, "one": "required"}
            steps = [write, self.step("find", find, "found")]
            steps.append(self.answer(self.expression("vars.found"), status))
            return [made.entries(self.at, {"transaction": made.items(self.at, steps)})]
        if not shown:
            return [write, self.answer(self.expression("vars.row"), status)]
        value = {name: self.expression(f"vars.row.{column}") for name, column in shown.items()}
        return [write, self.answer(made.entries(self.at, value), status)]

    def may_refuse(self, operation: str) -> bool:
        """Return whether a rule may prevent a user from changing a row that they can read."""
        access = self.table.access
        if access is None:
            return False
        own, read = access.of(operation), access.of("read")
        if not isinstance(own, Expression) or not isinstance(read, Expression):
            return False
        return own.text not in {read.text, "true"}

    def refusing(self) -> Iterator[Map]:
        """Return the steps that answer 404 or 403 if no row was changed."""
        find = {"where": self.where(), "select": made.items(self.at, self.table.key)}
        forbid = made.entries(self.at, {"throw": made.entries(self.at, {"status": 403})})
        then = [self.step("find", find | {"one": "required"}), forbid]
        yield made.entries(
            self.at,
            {"if": made.text(self.at, "vars.row == null"), "then": made.items(self.at, then)},
        )

    # ---- input
    def inputs(self) -> Map | None:
        """Return the shape of the body; None if there is no body."""
        given = self.written.get("input")
        if isinstance(given, Map):
            return given
        fields: dict[str, Any] = {}
        for name in given or ():
            if self.may_be_input(str(name)):
                mark = name.mark if isinstance(name, Text) else self.at
                spelled, field = self.input_field(str(name), mark, is_new=self.name == "create")
                fields[spelled] = field
        return made.entries(self.at, fields) if fields else None

    def may_be_input(self, name: str) -> bool:
        """Return whether a request may set a column."""
        column = self.table.columns.get(name)
        return column is not None and column.auto is None and name not in self.matches

    def input_field(self, name: str, at: Mark, *, is_new: bool) -> tuple[str, Any]:
        """Return the name of a field, with `?` if it is optional, and the field."""
        column = self.table.columns[name]
        if not is_new:
            return f"{name}?", self.field(name, at)
        if column.default is not None:
            return f"{name}?", self.field(name, at, default=column.default)
        return (f"{name}?" if column.nullable else name), self.field(name, at)

    def input_columns(self, shape: Map | None) -> list[str]:
        """Return the columns that are written without a change."""
        names = [str(name).rstrip("?") for name in shape or ()]
        return [name for name in names if self.may_be_input(name) and name not in self.set]

    def referred(self, columns: list[str]) -> Iterator[Map]:
        """Yield the steps that refuse references to rows that the caller cannot read.

        The answer is the same as for a row that does not exist.
        """
        for name in columns:
            to, _, key = (self.table.columns[name].references or "").partition(".")
            if to not in self.tables or not self.tables[to].has_rules:
                continue
            condition = made.text(self.at, f"{key} == input.{name}")
            inner = {"table": to, "where": condition, "select": made.items(self.at, [key])}
            find = made.entries(self.at, inner | {"one": True})
            look = made.entries(self.at, {"find": find, "as": "referred"})
            test = made.text(self.at, "vars.referred == null")
            refuse = made.entries(
                self.at, {"if": test, "then": made.items(self.at, [self.not_there(name)])}
            )
            given = made.text(self.at, f"input.{name} != null")
            then = made.items(self.at, [look, refuse])
            yield made.entries(self.at, {"if": given, "then": then})

    def not_there(self, name: str) -> Map:
        """Return the step that reports a missing row."""
        message = NOT_THERE.format(column=name)
        fields = made.entries(self.at, {name: made.items(self.at, [message])})
        error = made.entries(
            self.at, {"code": "conflict", "message": message, "fields": fields}
        )  # fmt: skip
        value = made.entries(self.at, {"error": error})
        return made.entries(
            self.at, {"throw": made.entries(self.at, {"status": 409, "value": value})}
        )

    def targets(self, model: List) -> dict[str, Target]:
        """Return the columns that a request may filter by."""
        found = {path: find_target(path, self.crud.table, self.tables) for path in model.filters}
        return {
            path: target for path, target in found.items()
            if target is not None and is_open(target) and target.query not in RESERVED
            and operators_of(model, target)
        }  # fmt: skip

    def orders(self, model: List) -> list[str]:
        """Return the orders that a request may choose, the default first."""
        paths = {written: split_order(written)[0] for written in model.sort}
        return [
            order for written, path in paths.items()
            if is_open(find_target(path, self.crud.table, self.tables))
            for order in both_ways(written)
        ]  # fmt: skip


# ---- written values
def _constant(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)


def _is_closed(value: str) -> bool:
    """Return whether an expression needs no parentheses: a path such as `vars.member.team_id`."""
    return re.fullmatch(r"[A-Za-z_][\w.?]*|'[^']*'|-?[0-9.]+", value) is not None


def _of_row(select: Any) -> dict[str, str] | None:
    """Return the column behind each name, if all of them are columns of the row itself."""
    if isinstance(select, Seq | list):
        return {str(name): str(name) for name in select}
    found: dict[str, str] = {}
    for name, value in select.items():
        if not isinstance(value, str) or not _PLAIN_NAME(value):
            return None
        found[str(name)] = str(value)
    return found
