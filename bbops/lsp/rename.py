"""Give a variable another name, within its function."""

from __future__ import annotations

import re

from bbops.check.flows import check_flow
from bbops.errors import BbopsError
from bbops.expressions.scope import SIGNED_IN
from bbops.lsp.definition import Site, uses, variable_at, variable_sites
from bbops.lsp.folder import Folder
from bbops.lsp.pointed import Pointed, point
from bbops.lsp.text import Lines

_NAME = re.compile(r"[a-z][A-Za-z0-9_]{0,62}").fullmatch


class NoRename(BbopsError):
    """What is under the cursor cannot be renamed, or not to that."""


def site_of(folder: Folder, path: str, lines: Lines, offset: int) -> Site | None:
    """Return the name under the cursor where it can be renamed."""
    at = point(folder, path, lines, offset)
    if at is None or not variable_at(at, offset):
        return None
    here = (site for site in uses(folder, path, lines, offset) if site.start <= offset <= site.end)
    return next(here, None)


def plan_rename(folder: Folder, path: str, lines: Lines, offset: int, name: str) -> list[Site]:
    """Return every place where the variable at an offset is named.

    Raises:
        NoRename: it is not a variable, the new name will not do, or other functions use it.
    """
    at = point(folder, path, lines, offset)
    old = variable_at(at, offset) if at else ""
    if at is None or not old:
        raise NoRename("only variables are renamed here")
    if not _NAME(name):
        raise NoRename(f"'{name}' is not a name of a variable", hint="names are in camelCase")
    if name in SIGNED_IN or variable_sites(folder, path, name):
        raise NoRename(f"'vars.{name}' is there already in function '{at.name}'")
    _require_own(folder, at, old)
    return uses(folder, path, lines, offset)


def _require_own(folder: Folder, at: Pointed, old: str) -> None:
    """Refuse a variable that reaches other functions, or comes from one."""
    if at.name in at.project.middleware:
        raise NoRename(f"functions behind this middleware may read 'vars.{old}'")
    inherited = check_flow(at.project, at.name).inherits
    if old in inherited or not variable_sites(folder, at.path, old):
        raise NoRename(f"'vars.{old}' is set by middleware before this function")
