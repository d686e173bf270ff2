"""Turn endpoints of a table into the endpoints and functions that a developer would write.

This happens before other code reads the project: check, plan, contract, history and tests see
files `endpoints/notes/list.yaml` and `functions/notes/list.yaml` with places in the action.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from pydantic import ValidationError

from bbops.base.model import Model, plain
from bbops.language.expressions.values import Expression
from bbops.language.loading.crud_functions import ITEM, Making, make_function
from bbops.language.loading.likes import as_columns
from bbops.language.project import OPEN, Resource
from bbops.language.resources._crud import SHARED, Action, Crud
from bbops.language.resources._kind import Kind
from bbops.language.resources.endpoint import Endpoint
from bbops.language.resources.function import Function
from bbops.language.resources.table import Table
from bbops.source.tree import BlobId
from bbops.source.yaml import made
from bbops.source.yaml.nodes import Map

METHODS: Mapping[str, str] = {
    "list": "GET", "get": "GET", "create": "POST", "update": "PATCH", "delete": "DELETE",
}  # fmt: skip
_IN_ENDPOINT = (*SHARED, "idempotency")


@dataclass(frozen=True, slots=True)
class Expanded:
    """The resources made of the files about tables.

    Attributes:
        broken: (folder, name) of resources that a mistake prevented.
    """

    endpoints: Mapping[str, Resource[Endpoint]]
    functions: Mapping[str, Resource[Function]]
    broken: frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Problem:
    """A mistake that prevents a generated file."""

    model: type[Model]
    root: Map
    error: ValidationError


@dataclass(frozen=True, slots=True)
class Part:
    """One action: its endpoint, and its function unless it names one.

    A mistake in the file leaves both as None; `problems` are mistakes that only the
    generated files show.
    """

    name: str
    action: str
    model: Action
    endpoint: Resource[Endpoint] | None = None
    function: Resource[Function] | None = None
    problems: tuple[Problem, ...] = ()


Made = dict[tuple[str, str, str], tuple[Part, ...]]
"""The parts of known files, by path, content, and the content of all tables."""


def expand(
    cruds: Mapping[str, Resource[Crud]], tables: Mapping[str, Resource[Table]],
    repaired: Collection[str], known: Made,
) -> Expanded:  # fmt: skip
    """Return the endpoints and functions of files about tables. O(actions).

    Args:
        repaired: files that were read with repairs; they are not expanded.
        known: the parts of earlier calls; this call replaces it by its own.
    """
    endpoints: dict[str, Resource[Endpoint]] = {}
    functions: dict[str, Resource[Function]] = {}
    broken = set[tuple[str, str]]()
    models = {name: table.model for name, table in tables.items()}
    told = "".join(sorted(f"{name} {table.blob}\n" for name, table in tables.items()))
    new = Made()
    for crud in cruds.values():
        key = (crud.file, crud.blob, told)
        new[key] = known.get(key) or tuple(_parts(crud, models, repaired))
        for part in new[key]:
            if part.endpoint is None:
                broken |= {("endpoints", part.name), ("functions", part.name)}
                continue
            endpoints[part.name] = part.endpoint
            if part.function is not None:
                functions[part.name] = part.function
    known.clear()
    known |= new
    return Expanded(endpoints, functions, frozenset(broken))


def _parts(
    crud: Resource[Crud], tables: Mapping[str, Table], repaired: Collection[str]
) -> Iterator[Part]:
    if crud.file not in repaired:
        yield from parts_of(crud, tables)
        return
    for action, model in crud.model.actions.every:
        yield Part(f"{crud.name}/{action}", action, model)


def parts_of(crud: Resource[Crud], tables: Mapping[str, Table]) -> Iterator[Part]:
    """Yield the parts of each action of a file."""
    for action, model in crud.model.actions.every:
        name = f"{crud.name}/{action}"
        making = making_of(crud, tables, action)
        if making is None or not _is_whole(making, model):
            yield Part(name, action, model)
            continue
        made_of: dict[type[Kind], Map] = {Endpoint: _endpoint(making, model, name)}
        if model.function is None:
            made_of[Function] = make_function(making, model)
        read = {kind: _read(kind, root) for kind, root in made_of.items()}
        problems = tuple(problem for problem in read.values() if isinstance(problem, Problem))
        if problems:
            yield Part(name, action, model, problems=problems)
            continue
        endpoint, *functions = (
            as_columns(_resource(crud, kind, name, made_of[kind], whole), tables)
            for kind, whole in read.items() if not isinstance(whole, Problem)
        )  # fmt: skip
        yield Part(name, action, model, endpoint, functions[0] if functions else None)


def making_of(
    crud: Resource[Crud], tables: Mapping[str, Table], action: str
) -> Making | None:  # fmt: skip
    """Return the source of the function of an action; None if a mistake prevents it."""
    model, root = crud.model, crud.document.root
    table = tables.get(model.table)
    written = (root.get("actions") or {}).get(action) if isinstance(root, Map) else None
    is_read = all(isinstance(value, Expression) for value in model.match.values())
    if table is None or not is_read or not isinstance(written, Map):
        return None
    at = root["actions"].keys_at[action]
    return Making(model, table, tables, root, action, written, at)


def _is_whole(making: Making, model: Action) -> bool:
    """Return whether the action has all parts that `bbops.compiler.check.crud` requires."""
    authentication = model.authentication or making.crud.authentication
    return model.function is not None or not (
        (not making.table.key and making.name != "create")
        or (making.name in ITEM and not making.keys)
        or (making.name == "create" and making.missing)
        or (making.name == "update" and not (making.written.get("input") or making.set))
        or (making.crud.owner is not None and authentication in OPEN)
    )


def _endpoint(making: Making, model: Action, name: str) -> Map:
    head = {
        "method": METHODS[making.name], "path": path_of(making),
        "function": making.written["function"] if model.function else name,
    }  # fmt: skip
    return made.joined(
        made.chosen(making.root, SHARED), made.chosen(making.written, _IN_ENDPOINT),
        made.entries(making.at, head),
    )  # fmt: skip


def path_of(making: Making) -> str:
    """Return the path of an action: the path of the file, and the key of the row."""
    path = making.crud.path.rstrip("/")
    if making.name in ITEM:
        path += "".join(f"/:{key}" for key in making.keys)
    return path or "/"


def _read(kind: type[Kind], root: Map) -> Kind | Problem:
    try:
        return kind.model_validate(root)
    except ValidationError as error:
        return Problem(kind, root, error)


def _resource(
    crud: Resource[Crud], kind: type[Kind], name: str, root: Map, model: Kind
) -> Resource[Any]:
    """Return a resource whose places are in the file about the table."""
    said = hashlib.sha256(msgspec.json.encode(plain(root))).hexdigest()
    blob = BlobId(f"{crud.blob}-{said[:16]}")
    document = replace(crud.document, root=root)
    return Resource(kind.id(), name, crud.file, blob, model, document)
