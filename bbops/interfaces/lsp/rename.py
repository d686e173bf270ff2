"""Rename a variable in its function, or a resource in the whole project.

A resource's name is its path, so its file moves; its references are found as `bbops mv` finds them.
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
from bbops.interfaces.lsp.cursor_target import CursorTarget, find_target
from bbops.interfaces.lsp.definition import FileRange, inner_of, uses, variable_at, variable_sites
from bbops.interfaces.lsp.names import OWN_STEPS, code_of, resources
from bbops.interfaces.lsp.project import EditorProject
from bbops.interfaces.lsp.text import SourceLines
from bbops.language.expressions.scope import SIGNED_IN
from bbops.language.loading.load import folder_of_key

_NAME = re.compile(r"[a-z][A-Za-z0-9_]{0,62}").fullmatch


class RenameError(BbopsError):
    """The text at the cursor cannot be renamed, or not to this name."""


@dataclass(frozen=True, slots=True)
class RenamePlan:
    """A rename: new texts for parts of files, then moved files."""

    edits: list[tuple[FileRange, str]] = field(default_factory=list)
    moves: list[tuple[str, str]] = field(default_factory=list)


def site_of(folder: EditorProject, path: str, lines: SourceLines, offset: int) -> FileRange | None:
    """Return the range of the name at the cursor if it can be renamed."""
    target = find_target(folder, path, lines, offset)
    if target is None:
        return None
    if _is_movable(target):
        return FileRange(path, *inner_of(target.spot.mark))
    if not variable_at(target, offset):
        return None
    own_sites = (
        site for site in uses(folder, path, lines, offset) if site.start <= offset <= site.end
    )
    return next(own_sites, None)


def plan_rename(
    folder: EditorProject, path: str, lines: SourceLines, offset: int, name: str
) -> RenamePlan:
    """Return the edits that rename the variable or resource at an offset.

    Raises:
        BbopsError: the text is not a name that can be renamed, or the project would break.
    """
    target = find_target(folder, path, lines, offset)
    if target is not None and _is_movable(target):
        return _plan_move(folder, target, name)
    old = variable_at(target, offset) if target else ""
    if target is None or not old:
        raise RenameError("only variables and resources can be renamed")
    if not _NAME(name):
        raise RenameError(f"'{name}' is not a variable name", hint="names are in camelCase")
    if name in SIGNED_IN or variable_sites(folder, path, name):
        place = title_of(code_of(target.kind, target.name))
        raise RenameError(f"'vars.{name}' already exists in {place}")
    _require_own(folder, target, old)
    return RenamePlan([(site, name) for site in uses(folder, path, lines, offset)])


def _require_own(folder: EditorProject, target: CursorTarget, old: str) -> None:
    """Reject a variable that reaches other functions, or comes from one."""
    code = code_of(target.kind, target.name)
    if code in target.project.middleware:
        raise RenameError(f"functions that run after this middleware may read 'vars.{old}'")
    inherited = target.project.flows.of(code).inherits
    if old in inherited or not variable_sites(folder, target.path, old):
        raise RenameError(f"'vars.{old}' is set by middleware before this function")


# ---- resources
def _is_movable(target: CursorTarget) -> bool:
    kind = target.name_kind
    if kind is None or kind.group not in {*folder_of_key().values(), OWN_STEPS}:
        return False
    return str(target.spot.value) in resources(target.project, kind.group)


def _plan_move(folder: EditorProject, target: CursorTarget, name: str) -> RenamePlan:
    group = target.name_kind.group if target.name_kind else ""
    change = Change(Files(folder.root, folder.files))
    old, new = Name(group, str(target.spot.value)), Name(group, name)
    if group == OWN_STEPS:
        old = Name("addons", old.name.replace(".", "/"))
        addon = old.name.partition("/")[0]
        new = Name("addons", f"{addon}/{name.removeprefix(f'{addon}.')}")
    move(change, old, new)
    if problems := change.problems():
        raise RenameError(problems[0].message, hint=problems[0].hint)
    plan = RenamePlan(moves=sorted(change.moved.items()))
    for path, data in change.files.items():
        if data is not None:
            before = next((old for old, new in change.moved.items() if new == path), path)
            plan.edits.extend(_differences(before, folder.source(before), data.decode()))
    return plan


def _differences(path: str, old: str, new: str) -> Iterator[tuple[FileRange, str]]:
    """Yield the changed lines of a file."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, first, last, new_first, new_last in matcher.get_opcodes():
        if kind != "equal":
            yield FileRange(path, starts[first], starts[last]), "".join(after[new_first:new_last])
