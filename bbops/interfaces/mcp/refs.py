"""Name resources as agents do: `endpoint/orders.list` is the file endpoints/orders/list.yaml.

Light, as all that a server's parent process imports.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from bbops.base.diagnostics import suggest
from bbops.interfaces.mcp.models import DOC, FOLDERS, KINDS, SETTINGS, Kind
from bbops.interfaces.mcp.tool import Refused

_SEGMENT: Final = r"[A-Za-z0-9][A-Za-z0-9_-]*"
_NAME: Final = re.compile(rf"{_SEGMENT}(?:[./]{_SEGMENT})*")
_LONGEST: Final = 200


class Ref(NamedTuple):
    """A kind and a name of it with slashes; `settings` has none."""

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name.replace('/', '.')}" if self.name else self.kind

    @property
    def folder(self) -> str:
        """Where resources of its kind lie; empty for the settings."""
        return FOLDERS[self.kind]

    @property
    def file(self) -> str:
        """The path from the project's root."""
        if self.kind == SETTINGS:
            return "project.yaml"
        return f"{self.folder}/{self.name}{'.md' if self.kind == DOC else '.yaml'}"


def parse_ref(text: str) -> Ref:
    """Return what a text names; whether it is there is another question.

    Raises:
        Refused: it names nothing that can be.
    """
    kind, slash, name = text.strip().partition("/")
    if kind not in FOLDERS:
        near = suggest(kind, [*FOLDERS, *FOLDERS.values()])
        every = ", ".join(KINDS)
        raise Refused(f"'{text[:100]}' is not a resource", hint=near or f"kinds are {every}")
    if kind == SETTINGS:
        if slash:
            raise Refused(f"'{text[:100]}' is not a resource", hint="the settings have no name")
        return Ref(SETTINGS, "")
    is_flat = kind == DOC and ("/" in name or "." in name)
    if not _NAME.fullmatch(name) or len(name) > _LONGEST or is_flat:
        raise Refused(f"'{text[:100]}' is not a resource name", hint=f"such as {kind}/orders")
    return Ref(kind, name.replace(".", "/"))


def ref_of(path: str) -> Ref | None:
    """Return what a file of the project is, None for what is no resource."""
    if path == "project.yaml":
        return Ref(SETTINGS, "")
    folder, _, rest = path.partition("/")
    kind = next((kind for kind, one in FOLDERS.items() if one == folder and one), None)
    end = ".md" if kind == DOC else ".yaml"
    if kind is None or not rest.endswith(end):
        return None
    try:
        ref = parse_ref(f"{kind}/{rest.removesuffix(end)}")
    except Refused:
        return None
    return ref if ref.file == path else None


def refs_of(paths: Iterable[str]) -> dict[str, Ref]:
    """Return what the files are that are resources, by their paths."""
    found = {path: ref_of(path) for path in paths}
    return {path: ref for path, ref in found.items() if ref is not None}


def near(text: str, known: Iterable[Ref]) -> str:
    """Return which of those that there are may have been meant."""
    return str(suggest(text, map(str, known)) or "context_list lists the resources")
