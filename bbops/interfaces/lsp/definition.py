"""Find the definition of a name, and its uses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard

from bbops.base.names import env_name
from bbops.interfaces.lsp.cursor_target import CursorTarget, find_target
from bbops.interfaces.lsp.names import (
    OWN_STEPS,
    NameKind,
    code_of,
    name_kind_at,
    resources,
    setters,
)
from bbops.interfaces.lsp.project import EditorProject, kind_of
from bbops.interfaces.lsp.schema import Path
from bbops.interfaces.lsp.text import SourceLines, start_of
from bbops.language.expressions.inside import expressions, nodes
from bbops.language.expressions.nodes import Member, Name, Node
from bbops.language.project import Project, Resource
from bbops.language.resources.function import Function
from bbops.source.yaml.document import Map, Mark
from bbops.source.yaml.edit import spots

_SHAPES = frozenset({"input", "query", "params"})


@dataclass(frozen=True, slots=True, order=True)
class FileRange:
    """A range of a file, by offsets."""

    path: str
    start: int = 0
    end: int = 0


def define(folder: EditorProject, path: str, lines: SourceLines, offset: int) -> list[FileRange]:
    """Return the definition of the name at an offset of a file."""
    target = find_target(folder, path, lines, offset)
    if target is None:
        return []
    if column := target.column():
        return _key_site(target.project.tables.get(column[0]), ("columns", column[1]))
    if target.name_kind is not None:
        return _of_name(target)
    if isinstance(target.node, Member) and isinstance(target.node.of, Name):
        return _of_member(folder, target, target.node.of.name, target.node.name)
    env = env_name(str(target.spot.value))
    return _key_site(target.project.settings, ("env", env)) if env else []


def _of_name(target: CursorTarget) -> list[FileRange]:
    name_kind, text = target.name_kind, str(target.spot.value)
    if name_kind is None:
        return []
    if name_kind.group == "parameters":
        step = resources(target.project, OWN_STEPS).get(name_kind.within)
        return _shape_site(step, "parameters", text)
    if name_kind.group == "fields":
        return _shape_site(target.project.functions.get(name_kind.within), name_kind.part, text)
    resource = resources(target.project, name_kind.group).get(text)
    return [FileRange(resource.file)] if resource is not None else []


def _of_member(
    folder: EditorProject, target: CursorTarget, root: str, name: str
) -> list[FileRange]:
    if root == "env":
        return _key_site(target.project.settings, ("env", name))
    if root in _SHAPES:
        return _shape_site(target.resource, root, name)
    if root != "vars":
        return []
    own = variable_sites(folder, target.path, name, writes=True)
    start = target.spot.mark.start
    before = [site for site in own if site.start < start]
    if before or own:
        return [(before or own)[-1 if before else 0]]
    return [
        site for function in _middleware(target)
        for site in variable_sites(folder, function.file, name)
    ]  # fmt: skip


def _middleware(target: CursorTarget) -> list[Resource[Any]]:
    routes = target.project.routes_of(code_of(target.kind, target.name))
    names = [name for route in routes for name in route.middleware]
    functions = target.project.functions
    return [functions[name] for name in dict.fromkeys(names) if name in functions]


def _shape_site(resource: Resource[Any] | None, part: str, name: str) -> list[FileRange]:
    return _key_site(resource, (part, name)) or _key_site(resource, (part, f"{name}?"))


def _key_site(resource: Resource[Any] | None, path: Path) -> list[FileRange]:
    """Return the range of a key in a resource."""
    node: Any = resource.document.root if resource is not None else None
    mark: Mark | None = None
    for part in path:
        if not isinstance(node, Map) or part not in node:
            return []
        mark, node = node.keys_at[str(part)], node[str(part)]
    return [FileRange(resource.file, mark.start, mark.end)] if resource and mark else []


# ---- variables
def variable_sites(
    folder: EditorProject, path: str, name: str, *, writes: bool = True
) -> list[FileRange]:
    """Return the places where a function sets a variable, or where it reads the variable."""
    kind_info, project = kind_of(path), folder.project
    if kind_info is None or project is None:
        return []
    function = project.functions.get(code_of(kind_info[0], kind_info[1]))
    if function is None:
        return []
    if writes:
        return sorted(_writes(function, name))
    lines = SourceLines(function.document.source)
    return sorted(_reads(function, lines, name))


def _writes(function: Resource[Function], name: str) -> Iterator[FileRange]:
    for step in setters(function.model.steps, name):
        marks = [*map(step.place, ("as", "each", "index")), step.key_place(name)]
        for mark in marks:
            if mark is None:
                continue
            start, end = inner_of(mark)
            if function.document.source[start:end] == name:
                yield FileRange(function.file, start, end)


def inner_of(mark: Mark) -> tuple[int, int]:
    """Return the range of a name without its quotes."""
    quote = 1 if mark.style in {"'", '"'} else 0
    return mark.start + quote, mark.end - quote


def _reads(function: Resource[Function], lines: SourceLines, name: str) -> Iterator[FileRange]:
    for expression in expressions(function.model):
        for node in nodes(expression.node):
            if is_variable(node) and node.name == name:
                start = start_of(function.document, lines, expression.mark, node.name_start)
                yield FileRange(function.file, start, start + len(name))


def is_variable(node: Node) -> TypeGuard[Member]:
    """Return whether a node is `vars.<name>`."""
    return isinstance(node, Member) and isinstance(node.of, Name) and node.of.name == "vars"


def variable_at(target: CursorTarget, offset: int) -> str:
    """Return the variable that is set or read at an offset; empty without one."""
    if target.node is not None and is_variable(target.node):
        return target.node.name
    function = target.project.functions.get(code_of(target.kind, target.name))
    if function is None or not isinstance(target.spot.value, str):
        return ""
    name = str(target.spot.value)
    writes = _writes(function, name)
    return name if any(site.start <= offset <= site.end for site in writes) else ""


# ---- uses
def uses(folder: EditorProject, path: str, lines: SourceLines, offset: int) -> list[FileRange]:
    """Return the uses of the name at an offset: of a variable, or of a resource."""
    target = find_target(folder, path, lines, offset)
    if target is None:
        return []
    if name := variable_at(target, offset):
        own = variable_sites(folder, path, name)
        return sorted({*own, *variable_sites(folder, path, name, writes=False)})
    if target.name_kind is None or target.name_kind.group in {
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
    return list(uses_of(target.project, target.name_kind.group, str(target.spot.value)))


def uses_of(project: Project, group: str, name: str) -> Iterator[FileRange]:
    """Yield the uses of a resource's name, in all files. O(project)."""
    for kind, resource in _files(project):
        root = resource.document.root
        for spot in spots(root):
            if spot.value == name:
                name_kind = name_kind_at(kind, resource.name, root, spot.path, is_key=spot.is_key)
                if name_kind == NameKind(group):
                    yield FileRange(resource.file, *inner_of(spot.mark))


def _files(project: Project) -> Iterator[tuple[str, Resource[Any]]]:
    yield "", project.settings
    for kind, group in project.resources.items():
        for resource in group.values():
            yield kind, resource
