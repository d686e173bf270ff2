"""Give something another name: a variable within its function, a resource in the whole project.

A resource's name is its path, so its file moves; what names it is found as `bbops mv` finds it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from bbops.base.errors import BbopsError
from bbops.base.names import title_of
from bbops.edit.authoring.changing import Change
from bbops.edit.authoring.folder import Folder as Files
from bbops.edit.authoring.moving import move
from bbops.edit.authoring.naming import Name
from bbops.interfaces.lsp.definition import Site, inner_of, uses, variable_at, variable_sites
from bbops.interfaces.lsp.folder import Folder
from bbops.interfaces.lsp.names import OWN_STEPS, code_of, resources
from bbops.interfaces.lsp.pointed import Pointed, point
from bbops.interfaces.lsp.text import Lines
from bbops.language.expressions.scope import SIGNED_IN
from bbops.language.loading.load import folder_of_key

_NAME = re.compile(r"[a-z][A-Za-z0-9_]{0,62}").fullmatch


class NoRename(BbopsError):
    """What is under the cursor cannot be renamed, or not to that."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A rename: new texts for parts of files, then files that move."""

    edits: list[tuple[Site, str]] = field(default_factory=list)
    moves: list[tuple[str, str]] = field(default_factory=list)


def site_of(folder: Folder, path: str, lines: Lines, offset: int) -> Site | None:
    """Return the name under the cursor where it can be renamed."""
    at = point(folder, path, lines, offset)
    if at is None:
        return None
    if _is_movable(at):
        return Site(path, *inner_of(at.spot.mark))
    if not variable_at(at, offset):
        return None
    here = (site for site in uses(folder, path, lines, offset) if site.start <= offset <= site.end)
    return next(here, None)


def plan_rename(folder: Folder, path: str, lines: Lines, offset: int, name: str) -> Plan:
    """Return what has to change so that the thing at an offset has another name.

    Raises:
        BbopsError: it has no name that could be changed, or the project would break.
    """
    at = point(folder, path, lines, offset)
    if at is not None and _is_movable(at):
        return _plan_move(folder, at, name)
    old = variable_at(at, offset) if at else ""
    if at is None or not old:
        raise NoRename("only variables and resources can be renamed")
    if not _NAME(name):
        raise NoRename(f"'{name}' is not a variable name", hint="names are in camelCase")
    if name in SIGNED_IN or variable_sites(folder, path, name):
        where = title_of(code_of(at.kind, at.name))
        raise NoRename(f"'vars.{name}' already exists in {where}")
    _require_own(folder, at, old)
    return Plan([(site, name) for site in uses(folder, path, lines, offset)])


def _require_own(folder: Folder, at: Pointed, old: str) -> None:
    """Refuse a variable that reaches other functions, or comes from one."""
    code = code_of(at.kind, at.name)
    if code in at.project.middleware:
        raise NoRename(f"functions that run after this middleware may read 'vars.{old}'")
    inherited = at.project.flows.of(code).inherits
    if old in inherited or not variable_sites(folder, at.path, old):
        raise NoRename(f"'vars.{old}' is set by middleware before this function")


# ---- resources
def _is_movable(at: Pointed) -> bool:
    named = at.named
    if named is None or named.group not in {*folder_of_key().values(), OWN_STEPS}:
        return False
    return str(at.spot.value) in resources(at.project, named.group)


def _plan_move(folder: Folder, at: Pointed, name: str) -> Plan:
    group = at.named.group if at.named else ""
    change = Change(Files(folder.root, folder.files))
    old, new = Name(group, str(at.spot.value)), Name(group, name)
    if group == OWN_STEPS:
        old = Name("addons", old.name.replace(".", "/"))
        addon = old.name.partition("/")[0]
        new = Name("addons", f"{addon}/{name.removeprefix(f'{addon}.')}")
    move(change, old, new)
    if problems := change.problems():
        raise NoRename(problems[0].message, hint=problems[0].hint)
    plan = Plan(moves=sorted(change.moved.items()))
    for path, data in change.files.items():
        if data is not None:
            before = next((old for old, new in change.moved.items() if new == path), path)
            plan.edits.extend(_differences(before, folder.source(before), data.decode()))
    return plan


def _differences(path: str, old: str, new: str) -> Iterator[tuple[Site, str]]:
    """Yield the lines of a file that change."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, first, last, new_first, new_last in matcher.get_opcodes():
        if kind != "equal":
            yield Site(path, starts[first], starts[last]), "".join(after[new_first:new_last])
