"""The resolved set of a project's resources. A Project never holds an unresolved reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, Literal, Self, TypeVar

from bbops.base.diagnostics import Place
from bbops.base.model import Model
from bbops.language.resources.addon import Addon
from bbops.language.resources.agent import Agent
from bbops.language.resources.channel import Channel
from bbops.language.resources.endpoint import Endpoint
from bbops.language.resources.function import Function
from bbops.language.resources.project import Project as Settings
from bbops.language.resources.realtime import Realtime
from bbops.language.resources.table import Table
from bbops.language.resources.task import Task
from bbops.language.resources.test import Test
from bbops.language.resources.trigger import Trigger
from bbops.language.resources.webhook import Webhook
from bbops.language.sql.types import Children, Relation
from bbops.language.sql.types import Column as SqlColumn
from bbops.language.sql.types import Table as SqlTable
from bbops.source.tree import BlobId, FilePath
from bbops.source.yaml.document import Document, Map, Mark

M = TypeVar("M", bound=Model)
Authentication = Literal["None", "JWT", "API Key"]


@dataclass(frozen=True)
class Resource(Generic[M]):
    """One file: its name, what it says, and where each word of it stands."""

    kind: str
    name: str
    file: FilePath
    blob: BlobId
    model: M
    document: Document

    def place(self, *path: str | int, key: bool = False) -> Place:
        """Return where a value begins, or its nearest parent; with `key`, where its key does."""
        return place(self.file, self.document, path, key=key)

    def at(self, mark: Mark | None, offset: int = 0) -> Place:
        """Return the place of a mark, `offset` characters into its scalar."""
        if mark is None:
            return Place(self.file)
        return Place(self.file, *self.document.position(mark, offset))


def place(
    file: str, document: Document, path: tuple[str | int, ...], *, key: bool = False
) -> Place:
    """Return where the value at a key path stands; with `key`, its key.

    Parts of the path that the document does not have are left out.
    """
    node, found = document.root, None
    for part in path:
        if isinstance(node, Map) and part in node:
            name = str(part)
            found = node.keys_at[name] if key and part == path[-1] else node.values_at[name]
            node = node[name]
        elif isinstance(node, list) and isinstance(part, int) and part < len(node):
            found, node = node.items_at[part], node[part]  # type: ignore[attr-defined]
    return Place(file, *document.position(found, 0)) if found is not None else Place(file)


@dataclass(frozen=True, slots=True)
class OnDead:
    """A function that runs when a job of some work, such as `triggers/order-paid`, is dead.

    Attributes:
        renamed_from: the work's name before; empty for none.
    """

    work: str
    function: str
    renamed_from: str = ""


@dataclass(frozen=True)
class Route:
    """An endpoint with what its channel gives it."""

    endpoint: Resource[Endpoint]
    channel: Resource[Channel] | None
    method: str
    path: str
    authentication: Authentication
    middleware: tuple[str, ...]

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """The names of the path's `:name` segments."""
        return tuple(part[1:] for part in self.path.split("/") if part.startswith(":"))


@dataclass(frozen=True)
class Project:
    """Every resource by its name.

    `resources` has those of each folder by their names, in the order in which kinds are shown;
    `broken` are (folder, name) of files that are there but could not be read, `mended` the files
    that were read as they were meant; a project that is published has none of either.
    """

    settings: Resource[Settings]
    resources: Mapping[str, Mapping[str, Resource[Any]]]
    broken: frozenset[tuple[str, str]] = frozenset()
    mended: frozenset[str] = frozenset()

    def having(self, folder: str, named: Mapping[str, Resource[Any]]) -> Self:
        """Return the project with other resources in a folder."""
        return replace(self, resources={**self.resources, folder: named})

    @property
    def every(self) -> Iterator[Resource[Any]]:
        """Every resource, the project itself first."""
        yield self.settings
        for named in self.resources.values():
            yield from named.values()

    @property
    def tables(self) -> Mapping[str, Resource[Table]]:
        """Those of `tables/`."""
        return self.resources["tables"]

    @property
    def functions(self) -> Mapping[str, Resource[Function]]:
        """Those of `functions/`."""
        return self.resources["functions"]

    @property
    def endpoints(self) -> Mapping[str, Resource[Endpoint]]:
        """Those of `endpoints/`."""
        return self.resources["endpoints"]

    @property
    def channels(self) -> Mapping[str, Resource[Channel]]:
        """Those of `channels/`."""
        return self.resources["channels"]

    @property
    def tasks(self) -> Mapping[str, Resource[Task]]:
        """Those of `tasks/`."""
        return self.resources["tasks"]

    @property
    def triggers(self) -> Mapping[str, Resource[Trigger]]:
        """Those of `triggers/`."""
        return self.resources["triggers"]

    @property
    def webhooks(self) -> Mapping[str, Resource[Webhook]]:
        """Those of `webhooks/`."""
        return self.resources["webhooks"]

    @property
    def realtime(self) -> Mapping[str, Resource[Realtime]]:
        """Those of `realtime/`."""
        return self.resources["realtime"]

    @property
    def agents(self) -> Mapping[str, Resource[Agent]]:
        """Those of `agents/`."""
        return self.resources["agents"]

    @property
    def addons(self) -> Mapping[str, Resource[Addon]]:
        """Those of `addons/`."""
        return self.resources["addons"]

    @property
    def tests(self) -> Mapping[str, Resource[Test]]:
        """Those of `tests/`."""
        return self.resources["tests"]

    @property
    def size(self) -> int:
        """How many resources there are, the project itself among them."""
        return sum(1 for _ in self.every)

    def named(self, kind: str) -> Mapping[str, Resource[Any]]:
        """Return the resources of one of the kinds that steps name, by their names."""
        return self.resources[f"{kind}s"]

    @cached_property
    def routes(self) -> tuple[Route, ...]:
        """The routes of endpoints that say who may ask, by a channel that exists or themselves."""
        return tuple(self._routes())

    def _routes(self) -> Iterator[Route]:
        for name in sorted(self.endpoints):
            endpoint = self.endpoints[name]
            channel = self.channels.get(endpoint.model.channel or "")
            if endpoint.model.channel is not None and channel is None:
                continue
            base = channel.model.base_path.rstrip("/") if channel else ""
            path = (base + endpoint.model.path.rstrip("/")) or "/"
            authentication: Authentication | None = endpoint.model.authentication or (
                channel.model.authentication if channel else None
            )
            if authentication is None:
                continue
            middleware = tuple(channel.model.middleware) if channel else ()
            yield Route(endpoint, channel, endpoint.model.method, path, authentication, middleware)

    @cached_property
    def sql_tables(self) -> dict[str, SqlTable]:
        """Each table as queries see it."""
        found: dict[str, SqlTable] = {}
        children = _children(self.tables)
        for name, table in self.tables.items():
            found[name] = replace(
                _sql_table(name, table.model), relations=_relations(table.model, self.tables),
                children=children[name], tables=found,
            )  # fmt: skip
        return found

    def routes_of(self, function: str) -> tuple[Route, ...]:
        """Return the routes that run a function, as their own or as middleware."""
        return self._uses.get(function, ())

    @cached_property
    def _uses(self) -> dict[str, tuple[Route, ...]]:
        found: dict[str, tuple[Route, ...]] = {}
        for route in self.routes:
            for name in dict.fromkeys((route.endpoint.model.function, *route.middleware)):
                found[name] = (*found.get(name, ()), route)
        return found

    @cached_property
    def callees(self) -> dict[str, tuple[str, ...]]:
        """For each function the names of those that its steps call."""
        return {name: one.model.callees for name, one in self.functions.items()}

    @cached_property
    def started(self) -> dict[str, tuple[str, ...]]:
        """For each function that jobs of `enqueue` run: the functions that enqueue it."""
        found: dict[str, tuple[str, ...]] = {}
        for name, one in self.functions.items():
            for function in dict.fromkeys(one.model.started):
                found[function] = (*found.get(function, ()), name)
        return found

    @property
    def on_dead(self) -> Iterator[OnDead]:
        """What runs when jobs are dead."""
        named: tuple[Mapping[str, Resource[Any]], ...] = (self.triggers, self.tasks)
        for one in (one for group in named for one in group.values()):
            model, old = one.model, one.model.renamed_from
            if model.on_dead is not None and model.enabled:
                folder = model.folder
                yield OnDead(
                    f"{folder}/{one.name}", model.on_dead, f"{folder}/{old}" if old else ""
                )
        for name in sorted(self.started.keys() & self.functions.keys()):
            job = self.functions[name].model.job
            if job is not None and job.on_dead is not None:
                yield OnDead(f"functions/{name}", job.on_dead)

    @cached_property
    def callers(self) -> dict[str, str]:
        """For each function that another one calls: the name of one that does."""
        return {callee: name for name, callees in self.callees.items() for callee in callees}

    @cached_property
    def middleware(self) -> frozenset[str]:
        """Functions that run before others: of channels, and of realtime."""
        groups = (self.channels.values(), self.realtime.values())
        return frozenset(name for group in groups for one in group for name in one.model.middleware)


def _relations(table: Table, tables: Mapping[str, Resource[Table]]) -> dict[str, Relation]:
    """Return the relations of a table: `author` for the foreign key `author_id`."""
    found = {}
    for name, column in table.columns.items():
        target, _, key = (column.references or "").partition(".")
        if target in tables and name.endswith("_id"):
            found[name.removesuffix("_id")] = Relation(name, target, key, column.nullable)
    return found


def _children(tables: Mapping[str, Resource[Table]]) -> dict[str, dict[str, Children]]:
    """Return who refers to each table; two foreign keys of one table need `reverse` to be told."""
    found: dict[str, dict[str, list[Children]]] = {name: {} for name in tables}
    for child, resource in tables.items():
        for name, column in resource.model.columns.items():
            target, _, key = (column.references or "").partition(".")
            if target in tables:
                one = Children(child, name, key)
                found[target].setdefault(column.reverse or child, []).append(one)
    return {
        table: {name: many[0] for name, many in of.items() if len(many) == 1}
        for table, of in found.items()
    }


def _sql_table(name: str, table: Table) -> SqlTable:
    columns = {
        column: SqlColumn(
            column, c.type, c.nullable, c.private, c.auto, c.default, tuple(c.enum or ()),
            c.max_length,
        ) for column, c in table.columns.items()
    }  # fmt: skip
    uniques = [table.key, *([column] for column, c in table.columns.items() if c.unique)]
    uniques += [index.columns for index in table.indexes.values() if index.unique]
    return SqlTable(name, columns, table.key, frozenset(map(frozenset, uniques)))
