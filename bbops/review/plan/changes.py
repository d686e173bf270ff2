"""Added, changed, removed and renamed resources and routes of two projects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

import msgspec

from bbops.base.model import plain
from bbops.base.names import INLINE
from bbops.compiler.check import CheckedProject
from bbops.database.diff.renames import find_renames
from bbops.language.project import Project, Resource, Route

Verb = Literal["added", "changed", "removed", "renamed"]
RouteVerb = Literal["added", "changed", "removed", "moved"]

_KEYS = 12
"""The most keys of one file that a review lists."""


@dataclass(frozen=True, slots=True)
class ResourceChange:
    """A file of the project that differs in another commit.

    Attributes:
        was: the old name of a renamed file.
        keys: the changed keys, for example `columns.title`; only for a changed file.
    """

    verb: Verb
    kind: str
    name: str
    file: str
    was: str = ""
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RouteChange:
    """A route that changes for clients.

    Attributes:
        authentication: its authentication; for a removed route, the old one.
        was: the old method and path of a moved route.
        changes: the differences, for example `authentication JWT → None`.
    """

    verb: RouteVerb
    method: str
    path: str
    endpoint: str
    authentication: str
    file: str
    was: str = ""
    changes: tuple[str, ...] = ()


# ---- resources
def find_resources(pairs: Pairs) -> tuple[ResourceChange, ...]:
    """Return the changed files, the project's own first, then by kind and name."""
    found = list(_changed(pairs.base.settings, pairs.head.settings))
    for folder in pairs.head.resources:
        found += sorted(_in_folder(pairs, folder), key=lambda change: change.name)
    return tuple(found)


def _in_folder(pairs: Pairs, folder: str) -> Iterator[ResourceChange]:
    base, head = of(pairs.base, folder), of(pairs.head, folder)
    renamed = pairs.renames[folder]
    for old, new in pairs.both(folder):
        yield from _changed(old, new)
    for name in head.keys() - base.keys() - renamed.keys():
        yield _change("added", head[name])
    for name in base.keys() - head.keys() - set(renamed.values()):
        yield _change("removed", base[name])


def _changed(old: Resource[Any], new: Resource[Any]) -> Iterator[ResourceChange]:
    keys = () if old.blob == new.blob else _keys(old.document.root, new.document.root)
    if old.name != new.name:
        yield _change("renamed", new, was=old.name, keys=keys)
    elif keys:
        yield _change("changed", new, keys=keys)


def _change(verb: Verb, of: Resource[Any], **more: Any) -> ResourceChange:
    return ResourceChange(verb, of.kind, of.name, of.file, **more)


def _keys(old: Any, new: Any) -> tuple[str, ...]:
    """Return the keys whose values differ, two levels deep; at most a few."""
    found = list(_differing(plain(old), plain(new), 2))
    more = len(found) - _KEYS
    return (*found[:_KEYS], f"and {more} more") if more > 0 else tuple(found)


def _differing(old: Any, new: Any, depth: int) -> Iterator[str]:
    for key in dict.fromkeys([*old, *new]):
        before, after = old.get(key), new.get(key)
        if _written(before) == _written(after) and (key in old) == (key in new):
            continue
        if depth > 1 and isinstance(before, dict) and isinstance(after, dict):
            yield from (f"{key}.{inner}" for inner in _differing(before, after, depth - 1))
        else:
            yield key


def _written(value: Any) -> bytes:
    """Return a value so that 1, 1.0 and true differ, and the order of keys does not matter."""
    return msgspec.json.encode(value, order="deterministic")


# ---- routes
def find_routes(pairs: Pairs) -> tuple[RouteChange, ...]:
    """Return the changed routes, by path."""
    return tuple(change for pair in pairs.other_routes for change in _of_route(pairs, pair))


def _of_route(pairs: Pairs, pair: RoutePair) -> Iterator[RouteChange]:
    if pair.base is None and pair.head is not None:
        yield _route("added", pair.head)
    elif pair.head is None and pair.base is not None:
        yield _route("removed", pair.base)
    elif pair.base is not None and pair.head is not None:
        changes = tuple(_route_changes(pairs, pair.base, pair.head))
        if title(pair.base) != title(pair.head):
            yield _route("moved", pair.head, was=title(pair.base), changes=changes)
        elif changes:
            yield _route("changed", pair.head, changes=changes)


def _route(verb: RouteVerb, of: Route, **more: Any) -> RouteChange:
    return RouteChange(
        verb, of.method, of.path, of.endpoint.name, of.authentication, of.endpoint.file, **more
    )


def _route_changes(pairs: Pairs, base: Route, head: Route) -> Iterator[str]:
    if base.authentication != head.authentication:
        yield f"authentication {base.authentication} → {head.authentication}"
    code = list(_code_changes(pairs, base, head))
    yield from code
    if base.roles != head.roles:
        yield f"roles {shown_roles(base)} → {shown_roles(head)}"
    if _limit(base) != _limit(head):
        yield f"rate limit {_limit(base)} → {_limit(head)}"
    if cors(base) != cors(head):
        yield "CORS"
    for key, was, now in _own(base, head):
        yield f"{key} {was} → {now}"
    if not code and _runs_other_code(pairs, base, head):
        yield "what it does"


def _code_changes(pairs: Pairs, base: Route, head: Route) -> Iterator[str]:
    was, now = base.function, head.function
    if pairs.new_name("functions", was) != now and not (_is_inline(was) or _is_inline(now)):
        yield f"function {was} → {now}"
    if [pairs.new_name("functions", function) for function in base.middleware] != [
        *head.middleware
    ]:
        yield f"middleware {_listed(base.middleware)} → {_listed(head.middleware)}"


def _is_inline(function: str) -> bool:
    """Return whether it is the steps of an endpoint: their content is compared, not their place."""
    return function.startswith(INLINE)


def _own(base: Route, head: Route) -> Iterator[tuple[str, object, object]]:
    old, new = base.endpoint.model, head.endpoint.model
    for key in ("timeout", "max_body", "idempotency", "docs_visibility", "history"):
        is_shared = hasattr(base, key)
        was, now = (getattr(side, key) for side in ((base, head) if is_shared else (old, new)))
        if was != now:
            yield key.replace("_", " "), _word(was), _word(now)
    if old.files != new.files:
        yield "files", _listed(old.files), _listed(new.files)


def _word(value: object) -> str:
    return {None: "default", True: "on", False: "off"}.get(value, str(value))  # type: ignore[call-overload, no-any-return]


def _listed(names: Mapping[str, object] | tuple[str, ...]) -> str:
    return ", ".join(names) or "none"


def _limit(route: Route) -> str:
    return str(route.rate_limit or "none")


def shown_roles(route: Route) -> str:
    """Return the roles of a route as text."""
    return ", ".join(sorted(route.roles)) if route.roles else "any"


def cors(route: Route) -> Any:
    """Return the origins that may read the answers of a route; None for no other origin."""
    return route.channel.model.cors if route.channel else None


def _runs_other_code(pairs: Pairs, base: Route, head: Route) -> bool:
    old, new = _functions(pairs.base, base), _functions(pairs.head, head)
    if sorted(function.blob for function in old) == sorted(function.blob for function in new):
        return False
    return [*map(_code, old)] != [*map(_code, new)]


_CODE: Final = frozenset(
    {"input", "query", "strictQuery", "params", "payload", "output", "job", "steps"}
)
"""Keys of code; the steps of an endpoint stand among others."""


def _functions(project: Project, route: Route) -> list[Resource[Any]]:
    return [project.functions[name] for name in run_by(project, route)]


def _code(function: Resource[Any]) -> bytes:
    """Return the code of a function, without comments and descriptions."""
    said = plain(function.document.root)
    return _written({key: value for key, value in said.items() if key in _CODE})


# ---- Match the resources and routes of two projects


@dataclass(frozen=True, slots=True)
class RoutePair:
    """A route before and after; one of them may be missing."""

    base: Route | None
    head: Route | None


@dataclass(frozen=True)
class Pairs:
    """Two projects without mistakes, side by side.

    A moved file is recognized by its content, a table by `renamedFrom` only: without it the rows
    stay behind. A route is recognized by its address first, then by its endpoint.
    """

    base: CheckedProject
    head: CheckedProject

    @cached_property
    def renames(self) -> Mapping[str, Mapping[str, str]]:
        """Old names by new names, for each folder."""
        return {folder: self._renames(folder) for folder in self.head.resources}

    def _renames(self, folder: str) -> Mapping[str, str]:
        base, head = of(self.base, folder), of(self.head, folder)
        if folder == "tables":
            models = [
                {name: resource.model for name, resource in side.items()} for side in (base, head)
            ]
            return find_renames(*models).tables
        if folder == "addons":  # their names are fixed
            return {}
        gone = defaultdict[str, list[str]](list)
        for name in sorted(base.keys() - head.keys(), reverse=True):
            gone[base[name].blob].append(name)
        new = sorted(head.keys() - base.keys())
        return {name: gone[head[name].blob].pop() for name in new if gone[head[name].blob]}

    @cached_property
    def _forward(self) -> Mapping[str, Mapping[str, str]]:
        return {
            folder: {old: new for new, old in names.items()}
            for folder, names in self.renames.items()
        }

    def new_name(self, folder: str, old: str) -> str:
        """Return the new name of a resource of the old project, if it still exists."""
        if folder == "functions" and old.startswith(INLINE):
            return f"{INLINE}{self.new_name('endpoints', old.removeprefix(INLINE))}"
        return self._forward[folder].get(old, old)

    def old_name(self, folder: str, new: str) -> str:
        """Return the old name of a resource of the new project, if it existed."""
        if folder == "functions" and new.startswith(INLINE):
            return f"{INLINE}{self.old_name('endpoints', new.removeprefix(INLINE))}"
        return self.renames[folder].get(new, new)

    def both(self, folder: str) -> Iterator[tuple[Resource[Any], Resource[Any]]]:
        """Yield (old, new) of the resources in both projects, by their new names."""
        base, head = of(self.base, folder), of(self.head, folder)
        for name in sorted(head):
            old = base.get(self.old_name(folder, name))
            if old is not None:
                yield old, head[name]

    @cached_property
    def routes(self) -> tuple[RoutePair, ...]:
        """Every route of either project once, in the order of their paths."""
        return tuple(sorted(self._routes(), key=_rank))

    @cached_property
    def other_routes(self) -> tuple[RoutePair, ...]:
        """The routes without those whose files, and whose functions at any depth, are the same.

        Projects that were checked with one cache share the resources of unchanged files; without
        a shared cache, these are all routes.
        """
        if self.base.settings is not self.head.settings:
            return self.routes
        return tuple(pair for pair in self.routes if not self._is_same(pair))

    def _is_same(self, pair: RoutePair) -> bool:
        base, head = pair.base, pair.head
        if base is None or head is None or base.endpoint is not head.endpoint:
            return False
        return base.channel is head.channel and self._other_functions.isdisjoint(
            (head.function, *head.middleware)
        )

    @cached_property
    def _other_functions(self) -> frozenset[str]:
        """The functions that differ between the projects, and the functions that run these."""
        base, head = self.base.functions, self.head.functions
        todo = [name for name in base.keys() | head.keys() if base.get(name) is not head.get(name)]
        callers = defaultdict[str, list[str]](list)
        for project in (self.base, self.head) if todo else ():
            for name in project.functions:
                for callee in _runs(project, name):
                    callers[callee].append(name)
        found = set(todo)
        while todo:
            new = [name for name in callers[todo.pop()] if name not in found]
            found.update(new)
            todo += new
        return frozenset(found)

    def _routes(self) -> Iterator[RoutePair]:
        base = {address(route): route for route in self.base.routes}
        head = {address(route): route for route in self.head.routes}
        yield from (RoutePair(base[key], head[key]) for key in head if key in base)
        left = {base[key].endpoint.name: base[key] for key in base if key not in head}
        for key, route in head.items():
            if key not in base:
                old = self.old_name("endpoints", route.endpoint.name)
                yield RoutePair(left.pop(old, None), route)
        yield from (RoutePair(route, None) for route in left.values())


def of(project: Project, folder: str) -> Mapping[str, Resource[Any]]:
    """Return the resources in a folder of a project, by name."""
    return project.resources[folder]


def address(route: Route) -> tuple[str, str]:
    """Return method and path for clients, without the names of parameters."""
    segments = (":" if part.startswith(":") else part for part in route.path.split("/"))
    return route.method, "/".join(segments)


def title(route: Route) -> str:
    """Return `GET /notes/:id`."""
    return f"{route.method} {route.path}"


def reached(project: Project, *functions: str) -> tuple[str, ...]:
    """Return functions and their callees and enqueued functions, at any depth, each once."""
    found = dict.fromkeys(functions)
    todo = list(found)
    while todo:
        for name in _runs(project, todo.pop()):
            if name not in found and name in project.functions:
                found[name] = None
                todo.append(name)
    return tuple(name for name in found if name in project.functions)


def _runs(project: Project, function: str) -> tuple[str, ...]:
    """Return the functions that a function calls or enqueues itself."""
    started = project.functions[function].model.started if function in project.functions else ()
    return (*project.callees.get(function, ()), *started)


def run_by(project: Project, route: Route) -> tuple[str, ...]:
    """Return every function that a request of a route may run."""
    return reached(project, *route.middleware, route.function)


def _rank(pair: RoutePair) -> tuple[str, str]:
    route = pair.head or pair.base
    assert route is not None  # noqa: S101 - a pair has at least one route
    return route.path, route.method
