"""Parts of a project that this version, or the server's workspace, does not run.

It is an error where a change adds it, so that nobody waits for what never happens. What was there
before is a warning: a new version of the server must not keep a project from publishing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from bbops.base.diagnostics import Diagnostic, Place
from bbops.base.model import plain
from bbops.compiler.check._files import is_stray
from bbops.language.addons._base import AddonStep, step_keys
from bbops.language.addons._base import kinds as addon_kinds
from bbops.language.loading.load import kinds
from bbops.language.project import Project, Resource
from bbops.language.resources.function import Function
from bbops.language.steps._base import find_step_kind, step_kinds
from bbops.runtime.vendors import find_steps
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


# ---- Whether a project uses what the workspace of its server has switched off
# No rule of the language: a project says nothing of where it is served, so only a server asks.

_SWITCH = "an owner can switch it on with 'bbops workspace set features.{feature}=on'"


def check_features(project: Project, off: Collection[str]) -> Iterator[Diagnostic]:
    """Yield an error for each file of a feature that is off.

    Args:
        project: has no other errors.
        off: names of features, such as `restChannels`.
    """
    uses: Mapping[str, Mapping[str, Resource[Any]]] = {"restChannels": project.channels}
    for feature, resources in uses.items():
        if feature not in off:
            continue
        for one in resources.values():
            yield Diagnostic(
                Place(one.file), "feature-off",
                f"the feature '{feature}' is off in this server's workspace",
                _SWITCH.format(feature=feature),
            )  # fmt: skip


# ---- Which parts of the language this version checks, but does not run: for pages, lists and
# agents
# It is asked of the parts themselves, so that it is never out of date.


@dataclass(frozen=True, slots=True)
class Parts:
    """Parts of the language, by the names that projects use.

    Attributes:
        kinds: folders, such as `realtime`.
        keys: of the other kinds, such as `triggers.webhook`.
        steps: keys of steps, without those of addons.
        addons: ids of addons of which no step runs.
        addon_steps: keys of the steps of addons.
    """

    kinds: tuple[str, ...]
    keys: tuple[str, ...]
    steps: tuple[str, ...]
    addons: tuple[str, ...]
    addon_steps: tuple[str, ...]

    def __str__(self) -> str:
        named = {"resource kinds": self.kinds, "keys": self.keys, "steps": self.steps}
        named["addons"] = self.addons
        return "; ".join(f"{what}: {', '.join(names)}" for what, names in named.items() if names)


@cache
def find_unsupported_parts() -> Parts:
    """Return what this version does not run."""
    return Parts(
        tuple(folder for folder, model in kinds().items() if not model.is_supported()),
        tuple(
            f"{folder}.{key}" for folder, model in kinds().items() if model.is_supported()
            for key in sorted(model.unsupported_keys())
        ),
        tuple(key for key, kind in step_kinds().items() if not kind.is_supported()),
        tuple(name for name in addon_kinds() if not find_steps(name)),
        tuple(
            key for key in step_keys()
            if (kind := find_step_kind(key)) is not None and not kind.is_supported()
        ),
    )  # fmt: skip
