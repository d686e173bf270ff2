"""Where something comes from, and where it is used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard

from bbops.base.names import env_name
from bbops.interfaces.lsp.folder import Folder, kind_of
from bbops.interfaces.lsp.names import OWN_STEPS, Named, code_of, named_at, resources, setters
from bbops.interfaces.lsp.pointed import Pointed, point
from bbops.interfaces.lsp.slots import Path
from bbops.interfaces.lsp.spots import start_of
from bbops.interfaces.lsp.text import Lines
from bbops.language.expressions.inside import expressions, nodes
from bbops.language.expressions.nodes import Member, Name, Node
from bbops.language.project import Project, Resource
from bbops.language.resources.function import Function
from bbops.source.yaml.document import Map, Mark
from bbops.source.yaml.spots import spots

_SHAPES = frozenset({"input", "query", "params"})


@dataclass(frozen=True, slots=True, order=True)
class Site:
    """A part of a file, by offsets."""

    path: str
    start: int = 0
    end: int = 0


def define(folder: Folder, path: str, lines: Lines, offset: int) -> list[Site]:
    """Return where the thing at an offset of a file is made."""
    at = point(folder, path, lines, offset)
    if at is None:
        return []
    if column := at.column():
        return _key_site(at.project.tables.get(column[0]), ("columns", column[1]))
    if at.named is not None:
        return _of_name(at)
    if isinstance(at.node, Member) and isinstance(at.node.of, Name):
        return _of_member(folder, at, at.node.of.name, at.node.name)
    env = env_name(str(at.spot.value))
    return _key_site(at.project.settings, ("env", env)) if env else []


def _of_name(at: Pointed) -> list[Site]:
    named, text = at.named, str(at.spot.value)
    if named is None:
        return []
    if named.group == "parameters":
        step = resources(at.project, OWN_STEPS).get(named.within)
        return _shape_site(step, "parameters", text)
    if named.group == "fields":
        return _shape_site(at.project.functions.get(named.within), named.part, text)
    found = resources(at.project, named.group).get(text)
    return [Site(found.file)] if found is not None else []


def _of_member(folder: Folder, at: Pointed, root: str, name: str) -> list[Site]:
    if root == "env":
        return _key_site(at.project.settings, ("env", name))
    if root in _SHAPES:
        return _shape_site(at.resource, root, name)
    if root != "vars":
        return []
    own = variable_sites(folder, at.path, name, writes=True)
    start = at.spot.mark.start
    before = [site for site in own if site.start < start]
    if before or own:
        return [(before or own)[-1 if before else 0]]
    return [site for one in _middleware(at) for site in variable_sites(folder, one.file, name)]


def _middleware(at: Pointed) -> list[Resource[Any]]:
    routes = at.project.routes_of(code_of(at.kind, at.name))
    names = [name for route in routes for name in route.middleware]
    functions = at.project.functions
    return [functions[name] for name in dict.fromkeys(names) if name in functions]


def _shape_site(resource: Resource[Any] | None, part: str, name: str) -> list[Site]:
    return _key_site(resource, (part, name)) or _key_site(resource, (part, f"{name}?"))


def _key_site(resource: Resource[Any] | None, path: Path) -> list[Site]:
    """Return where a key of a resource stands."""
    node: Any = resource.document.root if resource is not None else None
    mark: Mark | None = None
    for part in path:
        if not isinstance(node, Map) or part not in node:
            return []
        mark, node = node.keys_at[str(part)], node[str(part)]
    return [Site(resource.file, mark.start, mark.end)] if resource and mark else []


# ---- variables
def variable_sites(folder: Folder, path: str, name: str, *, writes: bool = True) -> list[Site]:
    """Return where a function sets a variable, or where it reads it."""
    what, project = kind_of(path), folder.project
    if what is None or project is None:
        return []
    one = project.functions.get(code_of(what[0], what[1]))
    if one is None:
        return []
    if writes:
        return sorted(_writes(one, name))
    lines = Lines(one.document.source)
    return sorted(_reads(one, lines, name))


def _writes(one: Resource[Function], name: str) -> Iterator[Site]:
    for step in setters(one.model.steps, name):
        marks = [*map(step.place, ("as", "each", "index")), step.key_place(name)]
        for mark in marks:
            if mark is None:
                continue
            start, end = inner_of(mark)
            if one.document.source[start:end] == name:
                yield Site(one.file, start, end)


def inner_of(mark: Mark) -> tuple[int, int]:
    """Return where a name stands without its quotes."""
    quote = 1 if mark.style in {"'", '"'} else 0
    return mark.start + quote, mark.end - quote


def _reads(one: Resource[Function], lines: Lines, name: str) -> Iterator[Site]:
    for found in expressions(one.model):
        for node in nodes(found.node):
            if is_variable(node) and node.name == name:
                start = start_of(one.document, lines, found.mark, node.name_start)
                yield Site(one.file, start, start + len(name))


def is_variable(node: Node) -> TypeGuard[Member]:
    """Return whether a node is `vars.<name>`."""
    return isinstance(node, Member) and isinstance(node.of, Name) and node.of.name == "vars"


def variable_at(at: Pointed, offset: int) -> str:
    """Return the variable that is set or read at an offset; empty for none."""
    if at.node is not None and is_variable(at.node):
        return at.node.name
    one = at.project.functions.get(code_of(at.kind, at.name))
    if one is None or not isinstance(at.spot.value, str):
        return ""
    name = str(at.spot.value)
    written = _writes(one, name)
    return name if any(site.start <= offset <= site.end for site in written) else ""


# ---- uses
def uses(folder: Folder, path: str, lines: Lines, offset: int) -> list[Site]:
    """Return where the thing at an offset is named: a variable, or a resource."""
    at = point(folder, path, lines, offset)
    if at is None:
        return []
    if name := variable_at(at, offset):
        own = variable_sites(folder, path, name)
        return sorted({*own, *variable_sites(folder, path, name, writes=False)})
    if at.named is None or at.named.group in {
        "columns",
        "fields",
        "references",
        "like",
        "roles",
        "events",
        "payload",
        "params",
        "parameters",
    }:
        return []
    return list(uses_of(at.project, at.named.group, str(at.spot.value)))


def uses_of(project: Project, group: str, name: str) -> Iterator[Site]:
    """Yield where a resource is named, in all files. O(project)."""
    for kind, one in _files(project):
        root = one.document.root
        for spot in spots(root):
            if spot.value == name:
                named = named_at(kind, one.name, root, spot.path, is_key=spot.is_key)
                if named == Named(group):
                    yield Site(one.file, *inner_of(spot.mark))


def _files(project: Project) -> Iterator[tuple[str, Resource[Any]]]:
    yield "", project.settings
    for kind, named in project.resources.items():
        for one in named.values():
            yield kind, one
