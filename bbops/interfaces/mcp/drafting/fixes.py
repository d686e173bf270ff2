"""Find the change that solves a diagnostic, if there is exactly one."""

from __future__ import annotations

from functools import lru_cache

from msgspec import UNSET, UnsetType

from bbops.base.diagnostics import Diagnostic
from bbops.edit.fixes import Cure, find_cure
from bbops.interfaces.mcp.drafting.files import ResourceFiles
from bbops.interfaces.mcp.drafting.serialization import as_json
from bbops.interfaces.mcp.models import DOC, DraftChange
from bbops.interfaces.mcp.refs import ref_of
from bbops.source.tree import Tree
from bbops.source.yaml.document import Document, load


class Fixes:
    """Finds fixes for the diagnostics of a tree; a file is read when its first fix is needed."""

    def __init__(self, tree: Tree) -> None:
        self._files = ResourceFiles(tree)
        self._document = lru_cache(self._read)

    def find(self, diagnostic: Diagnostic) -> DraftChange | UnsetType:
        """Return the change, UNSET without a fix."""
        document = self._document(diagnostic.place.file) if diagnostic.hint else None
        fix = find_cure(diagnostic, document) if document else None
        return _as_change(fix) if fix else UNSET

    def _read(self, path: str) -> Document | None:
        ref = ref_of(path)
        data = self._files.read([ref]).get(ref) if ref and ref.kind != DOC else None
        return load(data) if data is not None else None


def _as_change(fix: Cure) -> DraftChange | UnsetType:
    ref = ref_of(fix.file)
    if ref is None:
        return UNSET
    if fix.key:
        return DraftChange("rename", str(ref), path=[*fix.path], to=fix.key)
    return DraftChange("put", str(ref), path=[*fix.path], value=as_json(fix.value))
