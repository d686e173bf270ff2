"""Refs of resources: `endpoint/orders.list` is the file endpoints/orders/list.yaml.

This module imports no compiler, because the server's parent process imports it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from bbops.base.diagnostics import suggest
from bbops.interfaces.mcp.models import DOC, FOLDERS, KINDS, SETTINGS, Kind
from bbops.interfaces.mcp.tool import ToolError

_SEGMENT: Final = r"[A-Za-z0-9][A-Za-z0-9_-]*"
_NAME: Final = re.compile(rf"{_SEGMENT}(?:[./]{_SEGMENT})*")
_LONGEST: Final = 200


class Ref(NamedTuple):
    """A resource's kind and its name with slashes; `settings` has no name."""

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name.replace('/', '.')}" if self.name else self.kind

    @property
    def folder(self) -> str:
        """The folder of its kind; empty for the settings."""
        return FOLDERS[self.kind]

    @property
    def file(self) -> str:
        """The path relative to the project's root."""
        if self.kind == SETTINGS:
            return "project.yaml"
        return f"{self.folder}/{self.name}{'.md' if self.kind == DOC else '.yaml'}"


def parse_ref(text: str) -> Ref:
    """Return the ref in a text; its resource may not exist.

    Raises:
        Refused: the text is not a valid ref.
    """
    kind, slash, name = text.strip().partition("/")
    if kind not in FOLDERS:
        near = suggest(kind, [*FOLDERS, *FOLDERS.values()])
        kinds = ", ".join(KINDS)
        raise ToolError(f"'{text[:100]}' is not a resource", hint=near or f"kinds are {kinds}")
    if kind == SETTINGS:
        if slash:
            raise ToolError(f"'{text[:100]}' is not a resource", hint="the settings have no name")
        return Ref(SETTINGS, "")
    is_flat = kind == DOC and ("/" in name or "." in name)
    if not _NAME.fullmatch(name) or len(name) > _LONGEST or is_flat:
        raise ToolError(f"'{text[:100]}' is not a resource name", hint=f"such as {kind}/orders")
    return Ref(kind, name.replace(".", "/"))


def ref_of(path: str) -> Ref | None:
    """Return the ref of a project's file, None if the file is not a resource."""
    if path == "project.yaml":
        return Ref(SETTINGS, "")
    folder, _, rest = path.partition("/")
    kind = next((kind for kind, name in FOLDERS.items() if name == folder and name), None)
    end = ".md" if kind == DOC else ".yaml"
    if kind is None or not rest.endswith(end):
        return None
    try:
        ref = parse_ref(f"{kind}/{rest.removesuffix(end)}")
    except ToolError:
        return None
    return ref if ref.file == path else None


def refs_of(paths: Iterable[str]) -> dict[str, Ref]:
    """Return the refs of the files that are resources, by path."""
    refs = {path: ref_of(path) for path in paths}
    return {path: ref for path, ref in refs.items() if ref is not None}


def near(text: str, known: Iterable[Ref]) -> str:
    """Return a hint with the most similar existing ref."""
    return str(suggest(text, map(str, known)) or "context_list lists the resources")
