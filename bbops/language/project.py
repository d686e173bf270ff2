"""The resolved set of a project's resources. A Project never holds an unresolved reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Generic, Literal, Self, TypeVar

from bbops.base.diagnostics import Place
from bbops.base.model import Model
from bbops.base.names import INLINE
from bbops.language.resources._access import History, RateLimit
from bbops.language.resources._crud import Crud
from bbops.language.resources._declared import sql_tables
from bbops.language.resources._own_addon import OwnAddon, OwnStep
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
from bbops.language.sql.types import SqlTable
from bbops.language.steps._flow import OwnAction
from bbops.source.tree import BlobId, FilePath
from bbops.source.yaml.document import Document, Map, Mark

M = TypeVar("M", bound=Model)
Authentication = Literal["None", "JWT", "API Key", "Optional"]
OPEN: Final = frozenset({"None", "Optional"})
"""The `authentication` values that accept anonymous requests."""


@dataclass(frozen=True)
class Resource(Generic[M]):
    """One file: its name, its content, and the places of its keys and values."""

    kind: str
    name: str
    file: FilePath
    blob: BlobId
    model: M
    document: Document

    def place(self, *path: str | int, key: bool = False) -> Place:
        """Return the place of a value or of its nearest existing parent; with `key`, of its key."""
        return place(self.file, self.document, path, key=key)

    def at(self, mark: Mark | None, offset: int = 0) -> Place:
        """Return the place of a mark, `offset` characters into its scalar."""
        if mark is None:
            return Place(self.file)
        return Place(self.file, *self.document.position(mark, offset))


def place(
    file: str, document: Document, path: tuple[str | int, ...], *, key: bool = False
) -> Place:
    """Return the place of the value at a key path; with `key`, of its key.

    Parts of the path that are missing in the document are left out.
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
    """A function that runs after a job of some work, such as `triggers/order-paid`, is dead.

    Attributes:
        renamed_from: the earlier name of the work; empty if it was never renamed.
    """

    work: str
    function: str
    renamed_from: str = ""


def function_of(endpoint: Resource[Endpoint]) -> str:
    """Return the name of the function that an endpoint runs, also for its own steps."""
    return endpoint.model.function or f"{INLINE}{endpoint.name}"


@dataclass(frozen=True)
class Route:
    """An endpoint with the settings of its channel."""

    endpoint: Resource[Endpoint]
    channel: Resource[Channel] | None
    method: str
    path: str
    authentication: Authentication
    middleware: tuple[str, ...]

    @property
    def roles(self) -> frozenset[str] | None:
        """The roles of which a user needs one; None for every user, and without authentication."""
        return frozenset(found) if (found := self._either("roles")) else None

    @property
    def rate_limit(self) -> RateLimit | None:
        """The limit for the requests of one client; None for no limit."""
        found: RateLimit | None = self._either("rate_limit")
        return found if found is not None and found.limit else None

    @property
    def counts_alone(self) -> bool:
        """Whether the limit is its own, or shared with the other routes of its channel."""
        return self.endpoint.model.rate_limit is not None

    @property
    def max_body(self) -> str | None:
        """The largest size of a body."""
        found: str | None = self._either("max_body")
        return found

    @property
    def timeout(self) -> str | None:
        """The longest time for a response."""
        found: str | None = self._either("timeout")
        return found

    @property
    def history(self) -> History | None:
        """The settings for recorded requests."""
        found: History | None = self._either("history")
        return found

    def _either(self, name: str) -> Any:
        """Return the setting of the endpoint, else of its channel."""
        own = getattr(self.endpoint.model, name)
        return own if own is not None or self.channel is None else getattr(self.channel.model, name)

    def saying(self, key: str) -> Resource[Any]:
        """Return the file that sets a key: the endpoint's own, else its channel's."""
        is_own = self.channel is None or key in self.endpoint.document.root
        return self.endpoint if is_own or self.channel is None else self.channel

    @property
    def function(self) -> str:
        """The name of the function that it runs; see `function_of`."""
        return function_of(self.endpoint)

    @property
    def code_place(self) -> Place:
        """The place of the code that the endpoint runs."""
        is_inline = "function" not in self.endpoint.document.root
        return self.endpoint.place("steps" if is_inline else "function")

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """The names of the path's `:name` segments."""
        return tuple(part[1:] for part in self.path.split("/") if part.startswith(":"))


@dataclass(frozen=True)
class Project:
    """Every resource by its name.

    `resources` has the resources of each folder by their names, in the order in which kinds are
    shown; `broken` are (folder, name) of files that could not be read, `repaired` the files that
    were read after a repair of their text; a published project has none of either. `cruds` are the
    files of `endpoints/` about tables, which have become some of the endpoints and functions.
    """

    settings: Resource[Settings]
    resources: Mapping[str, Mapping[str, Resource[Any]]]
    broken: frozenset[tuple[str, str]] = frozenset()
    repaired: frozenset[str] = frozenset()
    cruds: Mapping[str, Resource[Crud]] = field(default_factory=dict)

    def having(self, folder: str, named: Mapping[str, Resource[Any]]) -> Self:
        """Return the project with other resources in a folder."""
        return replace(self, resources={**self.resources, folder: named})

    @property
    def every(self) -> Iterator[Resource[Any]]:
        """Every resource, the project itself first; also resources made of files about tables."""
        yield self.settings
        for named in self.resources.values():
            yield from named.values()
        yield from self.cruds.values()

    @property
    def tables(self) -> Mapping[str, Resource[Table]]:
        """The tables by their names."""
        return self.resources["tables"]

    @cached_property
    def functions(self) -> Mapping[str, Resource[Function]]:
        """The functions by their names, and the steps of endpoints under names that no file has."""
        found: dict[str, Resource[Function]] = {**self.resources["functions"]}
        for endpoint in self.endpoints.values():
            if endpoint.model.inline is not None:
                name = function_of(endpoint)
                found[name] = Resource(
                    "function",
                    name,
                    endpoint.file,
                    endpoint.blob,
                    endpoint.model.inline,
                    endpoint.document,
                )
        return found

    @cached_property
    def inline(self) -> frozenset[str]:
        """The endpoints with steps of their own."""
        return frozenset(name for name, endpoint in self.endpoints.items() if endpoint.model.steps)

    @property
    def endpoints(self) -> Mapping[str, Resource[Endpoint]]:
        """The endpoints by their names."""
        return self.resources["endpoints"]

    @property
    def channels(self) -> Mapping[str, Resource[Channel]]:
        """The channels by their names."""
        return self.resources["channels"]

    @property
    def tasks(self) -> Mapping[str, Resource[Task]]:
        """The tasks by their names."""
        return self.resources["tasks"]

    @property
    def triggers(self) -> Mapping[str, Resource[Trigger]]:
        """The triggers by their names."""
        return self.resources["triggers"]

    @property
    def webhooks(self) -> Mapping[str, Resource[Webhook]]:
        """The webhooks by their names."""
        return self.resources["webhooks"]

    @property
    def realtime(self) -> Mapping[str, Resource[Realtime]]:
        """The files of `realtime/` by their names."""
        return self.resources["realtime"]

    @property
    def agents(self) -> Mapping[str, Resource[Agent]]:
        """The agents by their names."""
        return self.resources["agents"]

    @cached_property
    def addons(self) -> Mapping[str, Resource[Addon | OwnAddon]]:
        """The addons by their names: addons of the catalog, and the project's own."""
        every = self.resources["addons"].items()
        return {name: addon for name, addon in every if "/" not in name}

    @cached_property
    def own_steps(self) -> Mapping[str, Mapping[str, Resource[OwnStep]]]:
        """The steps of the project's own addons, by addon and name."""
        found: dict[str, dict[str, Resource[OwnStep]]] = {
            name: {}
            for name, resource in self.addons.items()
            if isinstance(resource.model, OwnAddon)
        }
        for name, resource in self.resources["addons"].items():
            addon, slash, step = name.partition("/")
            if slash and addon in found:
                found[addon][step] = resource
        return found

    @cached_property
    def steps_by_addon(self) -> Mapping[str, Mapping[str, OwnAction]]:
        """The declared steps of the project's own addons, by addon and name."""
        return {
            addon: {name: step.model.action for name, step in steps.items()}
            for addon, steps in self.own_steps.items()
        }  # fmt: skip

    @cached_property
    def own_actions(self) -> Mapping[str, OwnAction]:
        """The declared steps of the project's own addons, by their keys."""
        return {
            f"{addon}.{name}": action
            for addon, steps in self.steps_by_addon.items() for name, action in steps.items()
        }  # fmt: skip

    @property
    def tests(self) -> Mapping[str, Resource[Test]]:
        """The tests by their names."""
        return self.resources["tests"]

    @property
    def size(self) -> int:
        """The number of resources, with the project itself."""
        return len({resource.file for resource in self.every})

    def named(self, kind: str) -> Mapping[str, Resource[Any]]:
        """Return the resources of a kind that steps refer to, by their names."""
        return self.resources[f"{kind}s"]

    @cached_property
    def routes(self) -> tuple[Route, ...]:
        """The routes of endpoints with a known authentication: their own, or their channel's."""
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
            own = (before for before in endpoint.model.middleware if before not in middleware)
            middleware = (*middleware, *dict.fromkeys(own))
            yield Route(endpoint, channel, endpoint.model.method, path, authentication, middleware)

    @cached_property
    def sql_tables(self) -> dict[str, SqlTable]:
        """Each table as queries see it."""
        return sql_tables({name: table.model for name, table in self.tables.items()})

    @cached_property
    def stored_tables(self) -> dict[str, SqlTable]:
        """Each table as the database stores it, without computed columns: for events and topics."""
        return {name: table.stored for name, table in self.sql_tables.items()}

    def routes_of(self, function: str) -> tuple[Route, ...]:
        """Return the routes that run a function, as their own or as middleware."""
        return self._uses.get(function, ())

    @cached_property
    def _uses(self) -> dict[str, tuple[Route, ...]]:
        found: dict[str, tuple[Route, ...]] = {}
        for route in self.routes:
            for name in dict.fromkeys((route.function, *route.middleware)):
                found[name] = (*found.get(name, ()), route)
        return found

    @cached_property
    def callees(self) -> dict[str, tuple[str, ...]]:
        """For each function, the names of the functions that its steps call."""
        return {name: function.model.callees for name, function in self.functions.items()}

    @cached_property
    def started(self) -> dict[str, tuple[str, ...]]:
        """For each function that `enqueue` runs, the functions that enqueue it."""
        found: dict[str, tuple[str, ...]] = {}
        for name, resource in self.functions.items():
            for function in dict.fromkeys(resource.model.started):
                found[function] = (*found.get(function, ()), name)
        return found

    @property
    def on_dead(self) -> Iterator[OnDead]:
        """The functions that run after dead jobs."""
        named: tuple[Mapping[str, Resource[Any]], ...] = (self.triggers, self.tasks, self.agents)
        for resource in (resource for group in named for resource in group.values()):
            model, old = resource.model, resource.model.renamed_from
            if model.on_dead is not None and model.enabled:
                folder = model.folder
                yield OnDead(
                    f"{folder}/{resource.name}", model.on_dead, f"{folder}/{old}" if old else ""
                )
        for name in sorted(self.started.keys() & self.functions.keys()):
            job = self.functions[name].model.job
            if job is not None and job.on_dead is not None:
                yield OnDead(f"functions/{name}", job.on_dead)

    @cached_property
    def callers(self) -> dict[str, str]:
        """For each function that is called by another one, the name of a caller."""
        return {callee: name for name, callees in self.callees.items() for callee in callees}

    @cached_property
    def middleware(self) -> frozenset[str]:
        """Functions that run before others: of channels, endpoints and realtime."""
        groups = (self.channels.values(), self.endpoints.values(), self.realtime.values())
        return frozenset(
            name for group in groups for resource in group for name in resource.model.middleware
        )
