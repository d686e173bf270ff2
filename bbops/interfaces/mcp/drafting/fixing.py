"""Find the change that makes a finding go, where its cure is known exactly."""

from __future__ import annotations

from functools import lru_cache

from msgspec import UNSET, UnsetType

from bbops.base.diagnostics import Diagnostic
from bbops.edit.fixes import Cure, find_cure
from bbops.interfaces.mcp.drafting.files import Files
from bbops.interfaces.mcp.drafting.serialization import as_json
from bbops.interfaces.mcp.models import DOC, Change
from bbops.interfaces.mcp.refs import ref_of
from bbops.source.tree import Tree
from bbops.source.yaml.document import Document, load


class Fixes:
    """What cures the findings in a tree; files are read when one may be about them."""

    def __init__(self, tree: Tree) -> None:
        self._files = Files(tree)
        self._document = lru_cache(self._read)

    def find(self, found: Diagnostic) -> Change | UnsetType:
        """Return the change, UNSET where nobody can say which one it is."""
        document = self._document(found.place.file) if found.hint else None
        cure = find_cure(found, document) if document else None
        return _as_change(cure) if cure else UNSET

    def _read(self, path: str) -> Document | None:
        ref = ref_of(path)
        data = self._files.read([ref]).get(ref) if ref and ref.kind != DOC else None
        return load(data) if data is not None else None


def _as_change(cure: Cure) -> Change | UnsetType:
    ref = ref_of(cure.file)
    if ref is None:
        return UNSET
    if cure.key:
        return Change("rename", str(ref), path=[*cure.path], to=cure.key)
    return Change("put", str(ref), path=[*cure.path], value=as_json(cure.value))
