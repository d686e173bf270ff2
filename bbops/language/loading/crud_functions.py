"""The functions that the actions of a table become, as a person would have written them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bbops.language.loading.crud_making import Making
from bbops.language.loading.crud_query import conditions, query_fields
from bbops.language.resources._crud import Create, List, Update
from bbops.source.yaml import made
from bbops.source.yaml.nodes import Map


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
