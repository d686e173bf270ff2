"""What a project holds that this version checks, but does not run.

It is an error where a change adds it, so that nobody waits for what never happens. What was there
before is a warning: a new version of the server must not keep a project from publishing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from bbops.base.diagnostics import Diagnostic, Place
from bbops.base.model import plain
from bbops.compiler.check._known_folders import is_stray
from bbops.language.addons._base import AddonStep
from bbops.language.project import Project, Resource
from bbops.language.resources.function import Function
from bbops.source.yaml.document import Map, Mark

CODE = "not-supported"
_WAS_THERE = "it existed before, so it does not block publishing; nothing runs it"


@dataclass(frozen=True, slots=True)
class Unsupported:
    """One step, key or file that this version does not run.

    Attributes:
        what: how a message names it.
        hint: what to do instead.
        content: what is written there, without its layout; equal content is the same thing.
    """

    place: Place
    what: str
    hint: str = field(compare=False)
    content: str


def check_supported(
    project: Project, find_base: Callable[[], Project | None]
) -> Iterator[Diagnostic]:
    """Yield an error for what this version does not run, a warning where it was there before.

    Args:
        project: the project as it would be.
        find_base: returns the project as it was accepted before, None where there is none. It is
            only called where there is something to compare.
    """
    found = list(find_unsupported(project))
    base = find_base() if found else None
    known = set() if base is None else _find_known(found, list(find_unsupported(base)))
    for one in found:
        is_known = one in known
        yield Diagnostic(
            one.place, CODE, f"this version does not run {one.what} yet",
            _WAS_THERE if is_known else one.hint, "warning" if is_known else "error",
        )  # fmt: skip


def find_unsupported(project: Project) -> Iterator[Unsupported]:
    """Yield what this version does not run, file by file."""
    for resource in project.every:
        if not resource.model.is_supported():
            yield from _whole_file(resource)
            continue
        for key in sorted(resource.model.unsupported_keys()):
            yield from _key(resource, key)
        if isinstance(resource.model, Function):
            yield from _steps(resource)


def _find_known(found: list[Unsupported], before: list[Unsupported]) -> set[Unsupported]:
    """Return what was there before: in the same file, else moved there from another one."""
    left = Counter(one.content for one in before)
    here = {(one.place.file, one.content) for one in before}
    known = set()
    for one in sorted(found, key=lambda one: (one.place.file, one.content) not in here):
        if left[one.content]:
            left[one.content] -= 1
            known.add(one)
    return known


def _whole_file(resource: Resource[Any]) -> Iterator[Unsupported]:
    content = _content(resource.kind, resource.document.root)
    if resource.kind != "addon":
        hint = f"leave {resource.file} out until a version supports it: nothing would start it"
        yield Unsupported(Place(resource.file), resource.model.folder, hint, content)
    elif resource.model.enabled:
        hint = "remove the file, and call the service with the step 'http'"
        yield Unsupported(Place(resource.file), f"addon '{resource.name}'", hint, content)


def _key(resource: Resource[Any], key: str) -> Iterator[Unsupported]:
    root = resource.document.root
    if isinstance(root, Map) and key in root:
        hint = "remove the key until a version supports it: nothing reads it"
        content = _content(f"{resource.kind}.{key}", root[key])
        yield Unsupported(resource.place(key, key=True), f"'{key}'", hint, content)


def _steps(function: Resource[Function]) -> Iterator[Unsupported]:
    steps = function.model.every_step
    absent = {kind for kind in {type(step) for step in steps} if not kind.is_supported()}
    if not absent:
        return
    written = dict(_maps(function.document.root))
    for step in (one for one in steps if type(one) in absent):
        hint = "remove the step until a version supports it: it would do nothing"
        if isinstance(step, AddonStep):
            hint = "call the service with the step 'http' instead"
        content = _content(step.key, written.get(step.mark))
        yield Unsupported(function.at(step.mark), f"'{step.key}' steps", hint, content)


def _maps(node: object) -> Iterator[tuple[Mark | None, Map]]:
    """Yield every map of a document, by where it begins."""
    if isinstance(node, Map):
        yield node.mark, node
        for value in node.values():
            yield from _maps(value)
    elif isinstance(node, list):
        for item in node:
            yield from _maps(item)


def _content(what: str, node: object) -> str:
    return f"{what} {json.dumps(plain(node), sort_keys=True, default=str)}"


def needs_base(found: Iterable[Diagnostic]) -> bool:
    """Return whether what was found, without a base, may be a warning with one."""
    return any(one.code == CODE or is_stray(one) for one in found)
